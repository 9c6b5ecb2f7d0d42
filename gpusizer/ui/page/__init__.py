"""The page: its state, its forms, what its listeners do, and the tabs that it is built of."""
