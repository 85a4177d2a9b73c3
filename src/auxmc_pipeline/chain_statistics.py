"""From recorded chains to labelled statistics: arrays with dims (..., chain, draw), some with a coordinate as well."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from auxmc.diagnostics import coda, convergence
from auxmc.diagnostics.runs import longest_constant_run
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import Chains

MOST_KEPT = 2_000_000
"""Draws are kept in the result file, and ranked, if there are at most this many numbers, all coordinates counted."""


def units_of(quantities: Mapping[str, str]) -> dict[str, str]:
    """Unit of each quantity, from the names of the quantities of each unit.

    >>> units_of({"s": "run_time chain_seconds"})
    {'run_time': 's', 'chain_seconds': 's'}
    """
    return {name: unit for unit, names in quantities.items() for name in names.split()}


UNITS = units_of(
    {
        "draws": "ess bulk_ess tail_ess",
        "1/s": "ess_per_second",
        "iterations": "longest_run n_iterations",
        "s": "chain_seconds",
        "1/iteration": "evaluations_per_iteration",
        "1/projection": "iterations_per_projection",
    }
)
"""Units of quantities that mean the same in every study."""

Statistic = Callable[[FloatArray], Any]
Draws = TypeVar("Draws", xr.Dataset, xr.DataArray)

_POOLED: dict[str, Statistic] = {
    # Without a copy of all draws, as NumPy's mean makes one.
    "posterior_mean": partial(xr.DataArray.mean, axis=(-2, -1), skipna=False),
    "posterior_sd": partial(np.std, axis=(-2, -1), ddof=1),
    "mcse_mean": convergence.mcse_mean,
    "mcse_sd": convergence.mcse_sd,
    "bulk_ess": convergence.bulk_ess,
    "tail_ess": convergence.tail_ess,
    "r_hat": convergence.rank_r_hat,
}


def labelled_draws(
    chains: Chains,
    coordinates: Mapping[str, Any],
    own_dims: Mapping[str, Sequence[str]],
    *,
    chain: str = "chain",
) -> xr.Dataset:
    """Recorded quantities with dims (swept settings, chain, draw, own dims).

    Args:
        chains: what the driver returned.
        coordinates: values of dims besides those of the swept settings; take precedence over them.
        own_dims: dims after draw, of quantities that have any.
        chain: the swept setting that numbers the chains, where each is a sweep point of its own; it becomes `chain`.
    """
    names = [("chain" if name == chain else name) for name in chains.axes]
    values: dict[str, Any] = dict(zip(names, chains.axes.values(), strict=True))
    arrays = chains.draws
    if "chain" in names:
        arrays = {name: array.squeeze(len(names)) for name, array in arrays.items()}
        values["chain"] = values["chain"].astype(int)
    else:
        values["chain"] = np.arange(next(iter(arrays.values())).shape[len(names)])
        names.append("chain")
    variables = {name: ((*names, "draw", *own_dims.get(name, ())), array) for name, array in arrays.items()}
    return xr.Dataset(variables, coords=values | dict(coordinates))


def without_sweep(chains: Chains) -> Chains:
    """Chains of a single sweep point, without the swept settings; raises ValueError for several points."""
    for name, values in chains.axes.items():
        if values.size != 1:
            raise ValueError(f"expected chains of one sweep point, but {name} has {values.size} values")
    place = (0,) * len(chains.axes)
    return chains._replace(draws={name: array[place] for name, array in chains.draws.items()}, axes={})


def with_units(variables: Mapping[Any, Any], units: Mapping[str, str]) -> xr.Dataset:
    """A dataset of the variables with their units: those of `UNITS`, those given, else none.

    >>> with_units({"ess": xr.DataArray(3.0)}, {})["ess"].attrs
    {'units': 'draws'}
    """
    data = xr.Dataset(variables)
    known = UNITS | dict(units)
    for name in data.data_vars:
        data[name].attrs["units"] = known.get(str(name), "")
    return data


def over_draws(function: Statistic, series: xr.DataArray, *, one_by_one: bool = False) -> xr.DataArray:
    """A function of series [..., draw] applied along draw; one by one, if it takes a single series [draw]."""
    return xr.apply_ufunc(function, series, input_core_dims=[["draw"]], vectorize=one_by_one)


def over_chains(
    function: Statistic, series: xr.DataArray, *to: Sequence[str], one_by_one: bool = False
) -> Any:
    """A function of chains [..., chain, draw] applied along chain and draw.

    Args:
        function: what to apply.
        series: recorded values (..., chain, draw, ...).
        to: dims that each result of the function has in place of chain and draw, where it has any or several results.
        one_by_one: the function takes a single [chain, draw]; also spares a copy of all draws.
    """
    dims: dict[str, Any] = {"input_core_dims": [["chain", "draw"]], "output_core_dims": to or ((),)}
    return xr.apply_ufunc(function, series, **dims, vectorize=one_by_one)


def _named_axes(function: Statistic) -> Statistic:
    """The function given chains whose axes have names: there may be more chains than draws."""
    return lambda values: np.asarray(
        function(xr.DataArray(values, dims=(*map(str, range(values.ndim - 2)), "chain", "draw")))  # type: ignore[arg-type]
    )


def chain_moments(series: xr.DataArray) -> dict[str, xr.DataArray]:
    """Effective sample size, mean and standard deviation of each chain: `ess`, `chain_mean`, `chain_sd`."""
    return {
        "ess": over_draws(coda.effective_sample_size, series),
        "chain_mean": series.mean("draw", skipna=False),
        "chain_sd": series.std("draw", ddof=1, skipna=False),
    }


def pooled(series: xr.DataArray, *names: str) -> dict[str, xr.DataArray]:
    """Statistics of the draws of all chains together, by name.

    Args:
        series: recorded values (..., chain, draw, ...).
        names: `posterior_mean`, `posterior_sd`, and as in `auxmc.diagnostics.convergence` `mcse_mean`, `mcse_sd`,
            `bulk_ess`, `tail_ess`, `r_hat`.
    """
    return {name: over_chains(_named_axes(_POOLED[name]), series) for name in names}


def error_of_mean(sd: xr.DataArray, ess: xr.DataArray) -> xr.DataArray:
    """Monte Carlo standard error of a mean over chains with effective sample sizes `ess`; NaN where all are 0."""
    total = ess.sum("chain")
    return sd / np.sqrt(total.where(total > 0.0))


def thinned_r_hat(series: xr.DataArray, n_draws: int) -> xr.DataArray:
    """Rank-normalised R-hat from about `n_draws` draws of each chain, at least so many where there are.

    R-hat hardly depends on thinning, and ranking millions of draws would take longer than the chains.
    """
    stride = max(1, series.sizes["draw"] // n_draws)
    return over_chains(_named_axes(convergence.rank_r_hat), series.isel(draw=slice(None, None, stride)))


def scale_reduction(series: xr.DataArray, coordinate: str | None = None) -> dict[str, xr.DataArray]:
    """Gelman and Rubin's factor and its upper limit, `psrf` and `psrf_upper`, of at least 2 chains.

    With the dim of the quantities there is `psrf_multivariate` as well. Values have dims (..., chain, draw, ...).
    """
    point, upper = over_chains(coda.potential_scale_reduction, series, (), ())
    found = {"psrf": point, "psrf_upper": upper}
    if coordinate is not None:
        found["psrf_multivariate"] = xr.apply_ufunc(
            coda.multivariate_scale_reduction, series, input_core_dims=[[coordinate, "chain", "draw"]]
        )
    return found


def longest_run(series: xr.DataArray, *coordinate: str) -> xr.DataArray:
    """Longest run of identical states of each chain; with a coordinate, of states that agree in all of it."""
    dims = [["draw", *coordinate]]
    return xr.apply_ufunc(longest_constant_run, series, input_core_dims=dims, vectorize=True)


def counted_failures(draws: xr.Dataset, names: Sequence[Any]) -> str:
    """Counters of draws that are not 0, in words.

    >>> counted_failures(xr.Dataset({"n_lost": ("draw", [1, 2]), "n_stuck": ("draw", [0, 0])}), ["n_lost", "n_stuck"])
    'n_lost=3'
    """
    counts = {name: int(draws[name].sum()) for name in names}
    return ", ".join(f"{name}={count}" for name, count in counts.items() if count)


def fraction_of_time(run_s: float, work: xr.DataArray) -> xr.DataArray:
    """Seconds of each chain out of those of all: its fraction of their work."""
    return run_s * work / work.sum()


def histogram(series: xr.DataArray, edges: FloatArray, dim: str = "bin") -> xr.DataArray:
    """Counts of each chain between edges [edge], with the centres of the bins as the values of `dim`."""
    dims: dict[str, Any] = {"input_core_dims": [["draw"]], "output_core_dims": [[dim]]}
    counts = xr.apply_ufunc(lambda values: np.histogram(values, edges)[0], series, **dims, vectorize=True)
    return counts.assign_coords({dim: 0.5 * (edges[1:] + edges[:-1])})


def thinned(data: Draws, most: int, *, last: bool = False) -> Draws:
    """Evenly spaced draws, at most so many, counted again: the first of each stretch, or the `last`."""
    stride = -(-data.sizes["draw"] // most)
    kept = data.isel(draw=slice(stride - 1 if last else 0, None, stride))
    return kept.assign_coords(draw=np.arange(kept.sizes["draw"]))


def arviz_groups(
    draws: xr.Dataset, names: Sequence[str], *, prefix: str = "", most: int | None = None
) -> dict[str, xr.Dataset]:
    """The draws in groups named as ArviZ does, dims (chain, draw) first; only those named are in the posterior.

    Above `most` numbers of the posterior nothing is kept; None keeps all.
    """
    if most is not None and sum(draws[name].size for name in names) > most:
        return {}
    ordered = draws.transpose("chain", "draw", ...).assign_coords(draw=np.arange(draws.sizes["draw"]))
    posterior, stats = ordered[list(names)], ordered.drop_vars(list(names))
    unused = [dim for dim in posterior.dims if not any(dim in stats[name].dims for name in stats.data_vars)]
    return {
        f"{prefix}posterior": posterior,
        f"{prefix}sample_stats": stats.drop_vars(unused, errors="ignore"),
    }
