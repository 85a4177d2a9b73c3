"""Measures the claims of the illustrations from their tables."""

from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, exact, recorded
from auxmc_pipeline.error_rules import (
    difference,
    fraction_of_trials,
    largest,
    mean_over_replicates,
    ratio,
    ratio_of_means,
    smallest,
)
from auxmc_pipeline.tables import Table, Tables

_SMALL_NOISE = 0.05
_CHECKED_MODELS = {
    "rates": "Lotka-Volterra",
    "generalised lambda": "generalised lambda",
    "pose": "human pose",
}


def _mean(quantity: str, tables: Tables) -> Measurement:
    """Over trajectories with momenta of their own."""
    return mean_over_replicates(tables.summary.rows(quantity)["value"])


def _branch_changes(place: int, tables: Tables) -> tuple[float, Measurement]:
    """A noise scale by its place in their order, 0 for exact conditioning, and changes per iteration at it."""
    rows = tables.summary.rows("branch_changes_per_iteration")
    scale = sorted(rows["noise"].unique())[place]
    return scale, mean_over_replicates(rows.loc[rows["noise"] == scale, "value"])


def _exact_changes(tables: Tables) -> Measurement:
    """Changes per iteration, each of which might have been one."""
    rows = tables.summary.rows("branch_changes_per_iteration", noise=0.0)
    n = len(rows) * Table(rows).setting("n_draws")
    return fraction_of_trials(float(rows["value"].mean()), n, f"in {n} iterations of {len(rows)} chains")


def _noisy_changes(tables: Tables) -> Measurement:
    scale, changes = _branch_changes(-1, tables)
    return changes._replace(note=f"noise scale {scale:g}")


def _fall_of_changes(tables: Tables) -> Measurement:
    (small, few), (large, many) = (_branch_changes(place, tables) for place in (1, -1))
    return ratio(few, many, f"noise scale {small:g} over {large:g}")


def _largest(quantity: str, tables: Tables, note: str = "") -> Measurement:
    return exact(float(tables.summary.rows(quantity)["value"].max()), note)


def _smallest_singular_value(tables: Tables) -> Measurement:
    noise_free = tables.summary.value("noise_free_singular_value")
    noisy = tables.summary.rows("noisy_singular_value_over_scale")["value"]
    return exact(float(noisy.min()), f"without noise it is {noise_free:.0e}")


def _energy_growth(tables: Tables) -> Measurement:
    error = tables.summary.rows("largest_energy_error")["value"].max()
    note = f"largest error over 2000 steps and all trajectories {error:.2g} nats"
    return _mean("energy_error_growth", tables)._replace(note=note)


def _rejection_exponent(tables: Tables) -> Measurement:
    """Slope of log acceptance rate in log tolerance over the dimension, from counts: largest distance from 1."""
    rates = tables.summary.array("rejection_accept_rate", "dimension", "rejection_tolerance")
    n_simulations = tables.summary.setting("n_simulations", quantity="rejection_accept_rate")
    dimensions = rates["dimension"].values.astype(float)
    logs = np.log(rates["rejection_tolerance"].values.astype(float))
    weights = (logs - logs.mean()) / np.sum(np.square(logs - logs.mean()))
    slopes = np.log(rates.values) @ weights / dimensions
    # The counts of nested balls are correlated: the sum of the moduli bounds the error.
    errors = (np.abs(weights) / np.sqrt(n_simulations * rates.values)).sum(axis=1) / dimensions
    names = [f"{slope:.4f} in dimension {n:g}" for slope, n in zip(slopes, dimensions, strict=True)]
    return largest(np.abs(slopes - 1.0), errors, names)


def _slope(quantity: str, size: str, tables: Tables) -> Measurement:
    """Growth of the time between the two largest sizes."""
    return _growth_of_cost(quantity, size, tables)._replace(error=np.nan, exact=False)


def _growth_of_cost(quantity: str, size: str, tables: Tables) -> Measurement:
    """Power of the number of observations with which a cost grows between the two largest."""
    costs = tables.summary.array(quantity, size).sortby(size)[-2:]
    sizes = costs[size].values.astype(float)
    slope = np.diff(np.log(costs.values))[0] / np.diff(np.log(sizes))[0]
    return exact(float(slope), f"from {sizes[0]:g} to {sizes[1]:g} observations")


def _check_work(model: str, tables: Tables) -> Measurement:
    """Constraint evaluations with the reversibility check over those without."""
    work = tables.summary.array("check_work", "check", "chain", checked_model=model)
    note = "constraint evaluations of projections"
    return ratio_of_means(
        work.sel(check="position_and_constraint").values, work.sel(check="none").values, note
    )


def _ess_by_inner_steps(tables: Tables) -> Measurement:
    (few, low), (many, high) = _few_and_many_inner_steps("ess_per_gradient", tables)
    return ratio_of_means(high, low, f"{many:g} sub-steps a step over {few:g}; means over {low.size} chains")


def _failures_by_inner_steps(tables: Tables) -> Measurement:
    (few, low), (many, high) = _few_and_many_inner_steps("failed_share", tables)
    n_draws = tables.summary.setting("n_cost_draws", quantity="failed_share")
    found, before = (fraction_of_trials(float(part.mean()), part.size * n_draws) for part in (high, low))
    note = f"{found.value:.2g} at {many:g} sub-steps, {before.value:.2g} at {few:g}"
    return difference(found, before, note)


def _few_and_many_inner_steps(quantity: str, tables: Tables) -> list[tuple[float, FloatArray]]:
    """Fewest and most sub-steps, each with a quantity of each chain [chain] at them."""
    found = tables.summary.array(quantity, "inner_steps", "chain").sortby("inner_steps")
    return [(float(found["inner_steps"][place]), found[place].values) for place in (0, -1)]


def _small_noise(tables: Tables) -> Measurement:
    rates = tables.summary.array("noise_ess_per_second", "sampler", "small_noise").sortby("small_noise")
    small = rates[:, rates["small_noise"].values <= _SMALL_NOISE]
    ratios = small.sel(sampler="constrained_hmc") / small.sel(sampler="hmc")
    listed = ", ".join(f"{float(ratio):.3g} at {float(ratio['small_noise']):g}" for ratio in ratios)
    return Measurement(float(ratios.min()), np.nan, listed)


def _small_noise_by_evaluations(tables: Tables) -> Measurement:
    """Effective draws per evaluation of constrained HMC over those of HMC: least over the small noise scales."""
    rates = tables.summary.array("noise_ess_per_evaluation", "sampler", "small_noise", "chain")
    scales = [float(scale) for scale in rates["small_noise"] if scale <= _SMALL_NOISE]
    found = []
    for scale in scales:
        constrained, plain = (
            rates.sel(sampler=name, small_noise=scale).values for name in ("constrained_hmc", "hmc")
        )
        found.append(ratio_of_means(constrained, plain))
    listed = ", ".join(f"{one.value:.3g} at {scale:g}" for one, scale in zip(found, scales, strict=True))
    return smallest([one.value for one in found], [one.error for one in found], [listed] * len(found))


def _painted(quantity: str, sampler: str, tables: Tables) -> Measurement:
    return mean_over_replicates(_of_chains(quantity, sampler, tables), "our decoder of digits")


def _painted_cost(quantity: str, tables: Tables) -> Measurement:
    """Cost of an iteration of constrained HMC over that of one of HMC."""
    constrained, plain = (_of_chains(quantity, name, tables) for name in ("constrained_hmc", "hmc"))
    return ratio_of_means(constrained, plain, f"{constrained.mean():.4g} and {plain.mean():.4g} an iteration")


def _painted_time(tables: Tables) -> Measurement:
    """Chains of a method ran one after the other and share one time, which says nothing about its error."""
    return _painted_cost("painted_seconds_per_iteration", tables)._replace(error=np.nan)


def _painted_efficiency(cost: str, tables: Tables) -> Measurement:
    """Effective draws for their cost of constrained HMC over those of HMC."""
    constrained, plain = (
        _of_chains("painted_ess_per_iteration", name, tables) / _of_chains(cost, name, tables).mean()
        for name in ("constrained_hmc", "hmc")
    )
    return ratio_of_means(constrained, plain)


def _of_chains(quantity: str, sampler: str, tables: Tables) -> FloatArray:
    return tables.summary.array(quantity, "chain", sampler=sampler).values


MEASURE: Measures = {
    "IM-IL-01": {"crossings": partial(_mean, "crossings"), "net over path": partial(_mean, "net_over_path")},
    "IM-IL-02": {"exact": _exact_changes, "noisy": _noisy_changes},
    "IM-ALG-01": {
        name: recorded("check_time_ratio", checked_model=model, note="seconds of four chains")
        for name, model in _CHECKED_MODELS.items()
    },
    "IM-ALG-05": {
        "dense": partial(_slope, "gram_dense_seconds", "dense_size"),
        "dense operations": partial(_growth_of_cost, "gram_dense_operations", "dense_size"),
        "low rank operations": partial(_growth_of_cost, "gram_markovian_operations", "structured_size"),
    },
    "IM-ALG-08": {"gradients": _ess_by_inner_steps, "failures": _failures_by_inner_steps},
    "IM-ALG-09": {"noisy": _smallest_singular_value},
    "IM-ALG-10": {
        "potential": partial(
            _largest, "potential_error", note="diagonal and Markovian structure against dense algebra"
        ),
        "gradient": partial(
            _largest, "gradient_error", note="tangent part; diagonal and Markovian structure"
        ),
        "trace formula": partial(_largest, "trace_formula_error"),
    },
    "IM-ALG-11": {"growth": _energy_growth},
    "IM-ALG-12": {"metric": partial(_largest, "metric_error")},
    "IM-ALG-13": {"small noise": _small_noise, "small noise: evaluations": _small_noise_by_evaluations},
    "IM-ALG-15": {"exponent": _rejection_exponent},
    "IM-MN-01": {
        "constrained HMC": partial(_painted, "painted_acceptance", "constrained_hmc"),
        "HMC": partial(_painted, "painted_acceptance", "hmc"),
    },
    "IM-MN-02": {
        "dearer: time": _painted_time,
        "dearer: passes": partial(_painted_cost, "painted_passes_per_iteration"),
        "overall: time": partial(_painted_efficiency, "painted_seconds_per_iteration"),
        "overall: passes": partial(_painted_efficiency, "painted_passes_per_iteration"),
    },
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "changes of branch at the smallest over those at the largest noise": _fall_of_changes,
    **{
        f"evaluations of the check, {name}": partial(_check_work, model)
        for name, model in _CHECKED_MODELS.items()
    },
    "growth of operations, independent": partial(
        _growth_of_cost, "gram_structured_operations", "structured_size"
    ),
}
