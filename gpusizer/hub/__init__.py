"""Facts that the Hub states: parsed model IDs, and one repository at one commit."""
