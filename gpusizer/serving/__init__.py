"""Serving: a server under load, as a small pure model."""

# `facts` states the work of a step at data-sheet rates, `constants` the additions that runs show.
# `server` turns both into seconds of a step, `steady` into the steady state of a load in closed
# form, and `simulation` into single requests; `served` is the answer for one entry of a ranking.

from __future__ import annotations

from gpusizer.serving.served import LatencySummary, Served, load_of_users, served, server_of
from gpusizer.serving.server import Server

__all__ = ["LatencySummary", "Served", "Server", "load_of_users", "served", "server_of"]
