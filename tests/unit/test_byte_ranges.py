from __future__ import annotations

import pytest

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted, total


def test_a_sum_is_as_well_known_as_its_weakest_part() -> None:
    weights = exactly(100, Provenance.EXACT)
    cache = exactly(20, Provenance.DERIVED)
    overhead = fitted(1, 2, 4)
    assert (weights + cache).provenance is Provenance.DERIVED
    assert total((weights, cache, overhead)) == Amount(121, 122, 124, Provenance.FITTED)


def test_an_empty_sum_is_exactly_nothing() -> None:
    assert total(()) == exactly(0, Provenance.EXACT)


@pytest.mark.parametrize("band", [(2, 1, 3), (1, 3, 2), (-1, 0, 1)])
def test_a_band_out_of_order_is_refused(band: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="band out of order"):
        Amount(*band, Provenance.FITTED)
