"""Nine summary statistics of a pair of population series, and the scales that make them comparable."""

from typing import Any, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.kernels.base import check_choice
from auxmc.numerics.array_types import FloatArray
from experiments.lotka_volterra.model.generator import LotkaVolterraModel
from experiments.lotka_volterra.model.rejection import FINITE, POPULATION_LIMIT, simulate_prior

CONVENTIONS = ("population", "sample")
Paths = TypeVar("Paths", Array, FloatArray)

SUMMARY_NAMES = (
    "mean prey",
    "mean predators",
    "log variance prey",
    "log variance predators",
    "lag-1 autocorrelation prey",
    "lag-2 autocorrelation prey",
    "lag-1 autocorrelation predators",
    "lag-2 autocorrelation predators",
    "cross-correlation",
)


class SummaryScales(NamedTuple):
    """Prior standard deviations of the statistics."""

    scales: FloatArray  # one for each statistic [9], in its unit
    n_draws: int  # prior draws made
    n_kept: int  # draws that entered: no population exceeded the limit


def summary_statistics(paths: Paths, convention: str = "population") -> Paths:
    """Statistics [..., 9] of paths [..., step, 2] of JAX or NumPy, in the order of `SUMMARY_NAMES`.

    With a and b the standardised series, the autocorrelation at lag k is the mean of the T - k products a_t a_(t+k),
    and the cross-correlation that of a_t b_t. `sample` follows Papamakarios and Murray 2016: log(1 + variance), with
    T - 1 as the divisor of variances and of sums of products. Section 4.10.2 of the thesis names them only.
    """
    check_choice("convention", convention, CONVENTIONS)
    if paths.ndim < 2 or paths.shape[-1] != 2:
        raise ValueError(f"paths must be [..., step, 2], got shape {paths.shape}")
    library: Any = np if isinstance(paths, np.ndarray) else jnp
    n_steps = paths.shape[-2]
    is_sample = convention == "sample"
    mean = paths.mean(axis=-2, keepdims=True)
    centred = paths - mean
    variance = library.sum(centred**2, axis=-2) / (n_steps - 1 if is_sample else n_steps)
    scaled = centred / library.sqrt(variance)[..., None, :]

    def products(first: Any, second: Any) -> Any:
        return library.sum(first * second, axis=-1) / (n_steps - 1 if is_sample else first.shape[-1])

    prey: Any = scaled[..., 0]
    predators: Any = scaled[..., 1]
    log_variance = library.log1p(variance) if is_sample else library.log(variance)
    parts = [
        mean[..., 0, 0],
        mean[..., 0, 1],
        log_variance[..., 0],
        log_variance[..., 1],
        *(products(series[..., :-lag], series[..., lag:]) for series in (prey, predators) for lag in (1, 2)),
        products(prey, predators),
    ]
    return library.stack(parts, axis=-1)


def prior_summary_scales(
    model: LotkaVolterraModel,
    rng: np.random.Generator,
    n_draws: int,
    convention: str = "population",
    limited: str = "size",
) -> SummaryScales:
    """Standard deviations of the statistics over prior draws whose populations do not exceed the limit.

    Few draws do not: about 2600 of a million, so that the scales are known to a few per cent. Limited from `above`
    alone, a dozen of them have huge negative values, which decide the scales of means. Source: PhD thesis, sec. 4.10.2.
    """
    lowest = -FINITE if limited == "above" else None
    paths = simulate_prior(model, rng, n_draws, POPULATION_LIMIT, lowest).paths
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = summary_statistics(paths, convention)
    kept = statistics[np.all(np.isfinite(statistics), axis=1)]
    if len(kept) < 2:
        raise ValueError(
            f"{len(kept)} of {n_draws} prior draws stay below {POPULATION_LIMIT:g} in size, which gives no standard "
            "deviation of the statistics: draw more, or take a prior of smaller rates"
        )
    return SummaryScales(kept.std(axis=0), n_draws, len(kept))
