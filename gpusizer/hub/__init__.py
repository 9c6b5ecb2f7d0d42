"""A repository as the Hub describes it: what a model ID names, and the facts of one commit."""
