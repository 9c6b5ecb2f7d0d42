// Reads texts in which a browser describes its graphics: returns the name of a card that the server
// understands, else why there is none. Texts are foreign: 200 characters of ASCII are read of each.
const graphicsName = texts => {
  const makers = 'GeForce|Quadro|Tesla|TITAN|RTX|NVIDIA(?= [A-Z]{1,2}\\d)|Radeon|Instinct|Arc|Apple(?= M\\d)';
  const named = new RegExp(`\\b(?:${makers})(?: [A-Za-z\\d.+-]{1,16}){1,6}`);
  const mobile = / with Max-Q.*$/;
  const after = / (?:Direct3D|D3D|OpenGL|Vulkan|Metal|Series|Graphics|GPU|LLVM).*$/i;
  const ofProcessor = /\b(?:U?HD Graphics(?: \d{3}(?!\d))?|Iris Xe(?= Graphics)|Radeon (?:\d{3}M|Vega \d{1,2})(?= Graphics))/;
  const software = /swiftshader|llvmpipe|softpipe|software|basic render/i;
  const told = texts.map(text => String(text ?? '').slice(0, 200)
    .replace(/[^\x20-\x7e]|\((?:R|TM)\)/gi, '').replace(/ +/g, ' ').trim()).filter(Boolean);
  for (const text of told) {
    if (/or similar/i.test(text)) continue;  // Firefox names one card for a whole class
    const part = text.match(ofProcessor)?.[0];
    if (part) return {kind: 'part', name: part.startsWith('Radeon') ? part : `Intel ${part}`};
    const name = text.match(named)?.[0].replace(mobile, ' Laptop').replace(after, '') ?? '';
    if (/\d|TITAN|VII/.test(name)) return {kind: 'card', name};
  }
  const [vague] = told.filter(text => !software.test(text));
  if (vague) return {kind: 'vague', name: vague};
  return {kind: told.length ? 'software' : 'nothing', name: ''};
};
