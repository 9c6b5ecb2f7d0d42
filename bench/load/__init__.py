"""Load: what visitors meet when many ask, when the Hub fails and when a server does."""
