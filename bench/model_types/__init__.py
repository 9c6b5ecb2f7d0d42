"""Model types of transformers: what their own code keeps, next to what gpusizer says of them."""

from __future__ import annotations
