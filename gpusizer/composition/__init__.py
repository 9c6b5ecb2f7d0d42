"""Composition roots: these modules alone join `gpusizer` and `scrapers`."""
