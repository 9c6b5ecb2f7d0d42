"""Pure functions that write answers as HTML; they format and escape, and do no arithmetic."""
