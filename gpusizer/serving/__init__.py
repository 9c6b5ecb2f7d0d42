"""Serving: a server under load, as a small pure model.

`facts` says what a step has to do at data-sheet rates, `constants` what runs add to that, `server`
puts both into seconds of a step, `steady` into the steady state of a load in closed form, and
`simulation` into single requests; `served` is the answer for one place of a ranking.
"""

from __future__ import annotations

from gpusizer.serving.served import Served, Spread, load_of_users, served, server_of
from gpusizer.serving.server import Server

__all__ = ["Served", "Server", "Spread", "load_of_users", "served", "server_of"]
