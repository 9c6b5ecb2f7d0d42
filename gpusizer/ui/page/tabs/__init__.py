"""The page's tabs; each module has a function that builds one."""
