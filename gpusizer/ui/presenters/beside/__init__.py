"""Cards side by side: the table, its cells and bars, and what folds out below each card."""
