"""From a model's name to what the Hub says about it: reading, and nothing else.

    fetch = build_fetcher(Settings.from_environment(os.environ))
    snapshot = fetch(parse_model_ref("org/name"))

Only headers, configurations and listings are read, never weights. Everything the Hub
sends is checked and bounded (`Limits`); what cannot be read is a `ModelUnreadable`.
"""
