"""Questions as people type them, and the first lines of the answers."""
