"""Write which files of Gradio a first visit fetches: `python -m scripts.preloads`.

After a new version of Gradio, or a new kind of component on the page. Needs Chromium.
"""

from __future__ import annotations

from bench.first_load import assets_fetched, chromium
from bench.served import served
from gpusizer.ui.delivery import PRELOADS


def main() -> None:
    """Visit the page once, and write `gpusizer/ui/preloads.txt`."""
    with served("tests.serve") as address, chromium() as browser:
        names = assets_fetched(browser, address)
    PRELOADS.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    print(f"{len(names)} files in {PRELOADS.name}")


if __name__ == "__main__":
    main()
