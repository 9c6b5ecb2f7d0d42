"""Data of the pictures: computed here, drawn elsewhere."""
