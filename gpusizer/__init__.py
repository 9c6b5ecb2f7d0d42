"""gpusizer: which GPUs run a Hugging Face model, how fast, for how much, and why.

`docs/library.md` shows the functions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpusizer.library import CompareAnswer as CompareAnswer
    from gpusizer.library import DeskAnswer as DeskAnswer
    from gpusizer.library import GpusAnswer as GpusAnswer
    from gpusizer.library import ModelsAnswer as ModelsAnswer
    from gpusizer.library import SizeAnswer as SizeAnswer
    from gpusizer.library import TrainAnswer as TrainAnswer
    from gpusizer.library import compare as compare
    from gpusizer.library import desk as desk
    from gpusizer.library import errors as errors
    from gpusizer.library import list_gpus as list_gpus
    from gpusizer.library import models_for as models_for
    from gpusizer.library import say_error as say_error
    from gpusizer.library import size as size
    from gpusizer.library import train as train

__version__ = "1.0.0"
__all__ = (
    *("CompareAnswer", "DeskAnswer", "GpusAnswer", "ModelsAnswer", "SizeAnswer", "TrainAnswer"),
    *("compare", "desk", "errors", "list_gpus", "models_for", "say_error", "size", "train"),
)

if not TYPE_CHECKING:  # type checkers would take any name for known

    def __getattr__(name: str) -> Any:
        # An answer takes 1.1 s of processor time to import, the help of the shell 0.1 s.
        if name in __all__:
            return getattr(import_module("gpusizer.library"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
