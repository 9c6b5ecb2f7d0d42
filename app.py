"""The Space, and every other server: `python app.py` is `gpusizer serve`."""

from __future__ import annotations

from gpusizer.composition.server import compose_from_environment, serve

__all__ = ["compose_from_environment"]

if __name__ == "__main__":
    serve()
