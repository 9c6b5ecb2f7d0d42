"""Errors of predicted times of pictures, with each source left out in turn.

python -m bench.pictures
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from gpusizer.core.units import TERA
from gpusizer.fit.picture_time import PictureRun, is_fast, picture_runs, picture_speed


@dataclass(frozen=True, slots=True)
class Predicted:
    """A run, and its predicted seconds by the runs of other sources."""

    run: PictureRun
    low: float
    likely: float
    high: float

    @property
    def error(self) -> float:
        """Relative error of the likely time."""
        return abs(self.likely / self.run.seconds - 1)

    @property
    def in_band(self) -> bool:
        """Whether the band holds the run."""
        return self.low <= self.run.seconds <= self.high


def predictions() -> list[Predicted]:
    """Return predictions of every run whose kind other sources have run."""
    found = []
    for run in picture_runs():
        others = [other for other in picture_runs() if other.source != run.source]
        speed = picture_speed(others, run.kind, is_fast(run.gpu_tflops))
        if speed is not None:
            full = run.gpu_tflops * TERA
            flops, starts = run.tflop * TERA * run.steps, (run.matrices or 0) * run.steps
            found.append(Predicted(run, *speed.seconds(flops, starts, full, full)))
    return found


def main() -> None:
    """Print errors by kind: of plain PyTorch runs, and the share of all runs in the band."""
    every = predictions()
    for kind in sorted({p.run.kind for p in every}):
        of_kind = [p for p in every if p.run.kind == kind]
        plain = [p for p in of_kind if not p.run.compiled]
        held = sum(p.in_band for p in of_kind)
        width = median(p.high / p.low for p in of_kind)
        error = median(p.error for p in plain)
        sources = len({p.run.source for p in of_kind})
        print(
            f"{kind:10} {len(of_kind):3} runs of {sources} sources: {error:.1%} off in the median, "
            f"{held} in the band ({held / len(of_kind):.0%}), which is {width:.1f} wide"
        )


if __name__ == "__main__":
    main()
