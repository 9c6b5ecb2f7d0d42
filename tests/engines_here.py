"""A llama-bench of this machine, which `gpusizer check` runs."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.bench_outputs import llama_bench

_OUTPUT = llama_bench((512, 0, 0, 9000.0), (0, 128, 0, 30.0))


def write_llama_bench(folder: Path) -> Path:
    """Write a llama-bench that notes its options, and does what its folder's files say."""
    path = folder / "llama-bench"
    path.write_text(
        f"""#!{sys.executable}
import pathlib, sys, time
here = pathlib.Path({str(folder)!r})
(here / "options").write_text(" ".join(sys.argv[1:]))
if (here / "slow").exists():
    time.sleep(600)
print("ggml_cuda_init: found 1 CUDA devices:", file=sys.stderr)
if (here / "broken").exists():
    sys.exit("error: failed to load the model")
print((here / "output").read_text())
""",
        encoding="utf-8",
    )
    path.chmod(0o755)
    (folder / "output").write_text(_OUTPUT, encoding="utf-8")
    return path
