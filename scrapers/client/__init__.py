"""Client: requests to the Hub, their limits and failures, and the responses of its API."""
