"""Units, and amounts as text. Inside gpusizer every amount is an integer number of bytes."""

from __future__ import annotations

GB = 10**9
GIB = 2**30
MIB = 2**20
KIB = 2**10
TERA = 10**12
SECONDS_PER_MINUTE = 60
SECONDS_PER_HOUR = 3600
_FAR = 9.995  # larger shares are printed as ">999%"


def significant(value: float) -> float:
    """Round to three significant digits, the precision of predictions.

    >>> significant(1234.5), significant(0.0123456)
    (1230.0, 0.0123)
    """
    return float(f"{value:.3g}")


def format_gb(amount_bytes: float) -> str:
    """Return decimal gigabytes (10^9) as text, as vendors and file listings count.

    >>> format_gb(16_060_522_496)
    '16.1 GB'
    """
    return f"{_three_digits(amount_bytes / GB)} GB"


def format_gib(amount_bytes: float) -> str:
    """Return binary gibibytes (2^30) as text, as drivers and engines count.

    >>> format_gib(16_060_522_496)
    '15.0 GiB'
    """
    return f"{_three_digits(amount_bytes / GIB)} GiB"


def format_usd(amount: float) -> str:
    """Return US dollars as text without a sign.

    >>> format_usd(1599.4), format_usd(60.56), format_usd(0.6912), format_usd(0.0041)
    ('1,599', '60.56', '0.69', '0.0041')
    """
    # whole numbers from a hundred on, cents below, two digits below a cent
    if amount >= 100:
        return f"{amount:,.0f}"
    return f"{amount:.2f}" if amount >= 0.01 or not amount else f"{amount:.2g}"


def format_count(count: float) -> str:
    """Return a count of parameters or tokens with its customary suffix.

    >>> format_count(8_030_261_248), format_count(131_072)
    ('8.03B', '131K')
    """
    rounded = abs(significant(count))  # 999,900 is 1M, not 1000K
    for limit, suffix in ((TERA, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if rounded >= limit:
            value = count / limit
            return f"{value:.3g}{suffix}" if value < 1000 else f"{value:.0f}{suffix}"
    return f"{count:g}"


def percent_text(share: float | None, *, signed: bool = False) -> str:
    """Return a share in percent: two digits below one percent, then one, then none.

    >>> [percent_text(x) for x in (0.0, 0.0013, 0.0194, 0.3087, 39.92, None)]
    ['0%', '0.13%', '1.9%', '31%', '>999%', '—']
    >>> percent_text(-0.0119, signed=True)
    '−1.2%'
    """
    if share is None:
        return "—"
    size = abs(share)
    sign = ("−" if share < 0 else "+") if signed and round(size, 4) else ""
    if size >= _FAR:
        return f">{sign}999%"
    value = size * 100
    digits = 0 if value >= 9.95 or not round(value, 2) else 1 if value >= 0.995 else 2
    return f"{sign}{value:.{digits}f}%"


def _three_digits(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
