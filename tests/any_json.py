"""Any JSON value, for readers of what strangers wrote."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Strategy = st.SearchStrategy[Any]
ANY_KEY, NOTHING = st.text(max_size=8), st.nothing()


def any_json(keys: Strategy = ANY_KEY, also: Strategy = NOTHING, *, nan: bool = True) -> Strategy:
    """Values in lists and objects with these keys; `also` adds to the scalars."""
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=nan)
    return st.recursive(
        scalars | st.text(max_size=20) | also,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
        max_leaves=16,
    )
