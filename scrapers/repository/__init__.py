"""Repository: a RepoSnapshot from a repository of the Hub, or from a folder on this machine."""
