"""Plain text: tables, durations, and values with errors."""

import math
from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Returns rows of cells as lines with aligned columns, those with the indices `right` to the right.

    >>> print(columns([("a", "10"), ("long", "2")], right=[1]))
    a     10
    long   2
    """
    aligned = []
    for i, cells in enumerate(zip(*rows, strict=True)):
        width = max(map(len, cells))
        aligned.append([cell.rjust(width) if i in right else cell.ljust(width) for cell in cells])
    return "\n".join("  ".join(row).rstrip() for row in zip(*aligned, strict=True))


def duration(seconds: float) -> str:
    """Returns a time in seconds, minutes or hours.

    >>> duration(42.8), duration(600.0), duration(7200.0), duration(math.nan)
    ('43 s', '10.0 min', '2.0 h', 'not stated')
    """
    if not math.isfinite(seconds):
        return "not stated"
    if seconds >= 5400.0:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.1f} min" if seconds >= 90.0 else f"{seconds:.0f} s"


def value_with_error(value: float, error: float) -> str:
    """Returns a value and its standard error, rounded to two digits of the error, which is left out if unknown or zero.

    >>> value_with_error(-1081.0312, 0.123), value_with_error(54000.0, 5700.0), value_with_error(2.0, 0.0)
    ('-1081.03 +- 0.12', '54000 +- 5700', '2')
    """
    if not (math.isfinite(error) and error > 0.0):
        return f"{value:.5g}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} +- {error:.{decimals}f}" if decimals <= 6 else f"{value:.5g} +- {error:.2g}"
