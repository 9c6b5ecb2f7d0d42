"""Serve folders of real models' metadata: `python -m tests.hub_emulator FOLDER [--port N]`."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path

from tests.hub_emulator.corpus import corpus_repos
from tests.hub_emulator.server import HubEmulator


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.hub_emulator", description=__doc__)
    parser.add_argument("folder", type=Path, help="holds one folder per repository")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per request")
    arguments = parser.parse_args()
    repos = corpus_repos(arguments.folder)
    with HubEmulator(repos, port=arguments.port, latency=arguments.latency) as hub:
        cdn = f"GPUSIZER_CDN_ORIGINS={hub.cdn_endpoint}"
        print(f"{len(repos)} repositories at HF_ENDPOINT={hub.endpoint} {cdn}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
