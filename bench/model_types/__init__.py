"""Model types of transformers: caches of their own code, compared with gpusizer's answers."""

from __future__ import annotations
