"""A repository of the Hub, or a folder on this machine, becomes a RepoSnapshot."""
