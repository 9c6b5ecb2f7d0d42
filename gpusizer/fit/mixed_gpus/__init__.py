"""One machine with cards of different kinds and system memory, run by llama.cpp."""

from gpusizer.fit.mixed_gpus.machine import Rig, RigWords, build_rig, is_rig, parse_rig

__all__ = ["Rig", "RigWords", "build_rig", "is_rig", "parse_rig"]
