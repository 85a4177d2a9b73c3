"""Numbers as a reader wants them: values with errors, bands, times and sizes."""

import math

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SMALLEST, _LARGEST = 1e-3, 1e6
_MOST_DECIMALS = 6


def number(value: float) -> str:
    """A number with about four significant digits.

    >>> [number(v) for v in (0.0, 2335.0, -95403.35, 0.0625, 2.4e-13, math.nan, math.inf)]
    ['0', '2335', '-95403.35', '0.0625', '2.4 × 10⁻¹³', '–', '∞']
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    size = abs(value)
    if _SMALLEST <= size < _LARGEST:
        return f"{value:.7g}" if size >= 1000 else f"{value:.4g}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{float(mantissa):g} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def with_error(value: float, error: float) -> str:
    """A value with its Monte Carlo standard error, digits cut to two of the error.

    >>> with_error(4.70712, 0.0123), with_error(0.5, 0.0), with_error(3.0, math.nan)
    ('4.707 ± 0.012', '0.5', '3')
    """
    if math.isnan(value):
        return "–"
    if math.isnan(error) or math.isinf(error) or error <= 0:
        return number(value)
    decimals = max(0, 1 - math.floor(math.log10(error)))
    if decimals > _MOST_DECIMALS or max(abs(value), error) >= _LARGEST:
        return f"{number(value)} ± {number(error)}"
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def band(low: float, high: float) -> str:
    """The values that count as agreement, in words.

    >>> band(0.1, 0.2), band(math.nan, 3.0), band(1.0, math.nan), band(5.0, 5.0)
    ('0.1 to 0.2', 'at most 3', 'at least 1', 'exactly 5')
    """
    if math.isnan(low) and math.isnan(high):
        return "none: reported only"
    if math.isnan(low):
        return f"at most {number(high)}"
    if math.isnan(high):
        return f"at least {number(low)}"
    return f"exactly {number(low)}" if low == high else f"{number(low)} to {number(high)}"


def seconds(time: float) -> str:
    """A time in seconds, the one unit of all tables, without the unit; thousands set apart by narrow spaces.

    >>> seconds(7.31), seconds(12345.6), seconds(math.nan)
    ('7.3', '12\\u202f346', '–')
    """
    if math.isnan(time):
        return "–"
    return f"{time:,.{1 if time < 1000 else 0}f}".replace(",", "\u202f")
