"""What files hold: headers, indexes and names of weights, read within bounds. Pure."""
