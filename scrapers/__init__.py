"""Scrapers: readers of a model's facts from the Hub, which return a RepoSnapshot.

    fetch = Fetcher(Settings.from_environment(os.environ))
    snapshot = fetch(parse_model_ref("org/name"))

They read headers, configurations and file lists, never weights. Everything that the Hub sends is
checked and bounded (`Limits`); a model that cannot be read raises a `ModelUnreadable`.
"""
