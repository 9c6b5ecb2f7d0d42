"""Requests to the Hub: one session, its limits, its failures and the answers of its API."""
