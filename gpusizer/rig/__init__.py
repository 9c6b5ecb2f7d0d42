"""A machine somebody has: cards of any kind together, and the system memory beside them."""

from gpusizer.rig.machine import Rig, build_rig
from gpusizer.rig.words import RigWords, is_rig, parse_rig

__all__ = ["Rig", "RigWords", "build_rig", "is_rig", "parse_rig"]
