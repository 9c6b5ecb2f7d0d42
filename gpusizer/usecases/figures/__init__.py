"""What the pictures show, as plain data: computed here, drawn elsewhere."""
