// Asks one endpoint with Gradio's JavaScript client, and prints what it says the application's
// address is, then the answer:  node ask.mjs ADDRESS ENDPOINT FIELDS_AS_JSON
import { Client } from "@gradio/client";

const [address, endpoint, fields] = process.argv.slice(2);
const client = await Client.connect(address);
const { data } = await client.predict(endpoint, JSON.parse(fields));
process.stdout.write(JSON.stringify({ root: client.config.root, answer: data[0] }), () =>
  process.exit(0), // its stream of heartbeats would keep the program running
);
