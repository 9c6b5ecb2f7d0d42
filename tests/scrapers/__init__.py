"""The scraper against the emulated Hub."""
