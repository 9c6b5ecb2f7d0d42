"""The Space, and every other server: `python app.py` is `gpusizer serve`."""

from __future__ import annotations

import sys

from gpusizer.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
