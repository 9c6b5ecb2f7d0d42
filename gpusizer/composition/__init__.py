"""Composition roots, the only modules that join `gpusizer` and `scrapers`."""
