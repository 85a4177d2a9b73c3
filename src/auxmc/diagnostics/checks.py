"""Checks of Monte Carlo output that every diagnostic makes before it computes anything."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def finite_series(
    series: ArrayLike, what: str = "series", min_draws: int = 2, chain_axis: bool = False
) -> NDArray[np.floating]:
    """Returns values [..., draw], or [..., chain, draw] with `chain_axis`, as floats; float input is not copied.

    Raises:
        ValueError: too few axes or draws; or a value is not finite: the message names the input (`what`), the chain,
            the other leading indices and the first bad draw, all counted from 0.
    """
    values = np.asarray(series)
    if not np.issubdtype(values.dtype, np.floating):
        values = values.astype(np.float64)
    n_axes = 2 if chain_axis else 1
    expected = "[..., chain, draw]" if chain_axis else "[..., draw]"
    if values.ndim < n_axes:
        raise ValueError(f"{what} must have axes {expected}, got shape {values.shape}")
    if values.shape[-1] < min_draws:
        raise ValueError(f"{what} must have at least {min_draws} draws {expected}, got shape {values.shape}")
    # A sum is finite unless a value is not (or it overflows): one pass without a mask the size of the input.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = ~np.isfinite(np.sum(values, axis=-1))
    for lane in np.argwhere(suspicious):
        lane_index = tuple(int(i) for i in lane)
        bad = np.flatnonzero(~np.isfinite(values[lane_index]))
        if bad.size:
            draw = int(bad[0])
            where = f"chain {lane_index[-1]}, " if lane_index else ""
            if len(lane_index) > 1:
                where = f"leading index {list(lane_index[:-1])}, " + where
            raise ValueError(
                f"{what} must be finite, got {values[lane_index][draw]} at {where}draw {draw} "
                f"(counted from 0); {bad.size} of {values.shape[-1]} draws of this chain are not finite"
            )
    return values
