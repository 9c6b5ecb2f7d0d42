"""The command `python -m scripts.prices`: refreshes the price tables of `data/generated/`.

The application itself never runs this package.
"""
