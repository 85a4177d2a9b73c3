"""Measures the claims of the illustrations from their tables."""

import math
from functools import partial

import numpy as np
import xarray as xr

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, exact, largest, mean, mean_proportion, proportion
from auxmc_pipeline.tables import Measure, MissingData, Tables, recorded
from auxmc_pipeline.usable_steps import USABLE_ACCEPT_RATE

_SMALL_NOISE = 0.05
_CHECKED = {"rates": "Lotka-Volterra", "generalised lambda": "generalised lambda", "pose": "human pose"}
_CHANGES = "branch_changes_per_iteration"


def crossings_of_ridge(tables: Tables) -> Measurement:
    """IM-IL-01: crossings less those of the same trajectories without a ridge, at the largest usable step."""
    near, far, step = _with_and_without_ridge(tables, "drawn_crossings")
    note = f"{float(near.mean()):.3g} against {float(far.mean()):.3g} at step {step:g}"
    return mean((near - far).values, note)


def usable_step(tables: Tables) -> Measurement:
    """IM-IL-01: step that accepts 0.9 with the ridge over that without, between the smallest and largest tried."""
    rates = _by_step(tables, "leapfrog_acceptance")
    steps = rates["leapfrog_step"].values

    def find(part: FloatArray) -> float:
        return float(np.interp(-USABLE_ACCEPT_RATE, np.maximum.accumulate(-part.mean(axis=0)), steps))

    note = "{:.3g} and {:.3g}".format(*(find(part.values.T) for part in rates))
    return estimate(
        lambda near, far: find(near) / find(far), *rates, over="repeat", method="paired", note=note
    )


def motion_at_equal_steps(tables: Tables, quantity: str) -> Measurement:
    """IM-IL-01: mean reach with the ridge over that without, at the largest usable step."""
    near, far, step = _with_and_without_ridge(tables, quantity)
    note = f"{float(near.mean()):.3g} and {float(far.mean()):.3g} at step {step:g}"
    return estimate(lambda a, b: a.mean() / b.mean(), near.values, far.values, method="paired", note=note)


def _with_and_without_ridge(tables: Tables, quantity: str) -> tuple[xr.DataArray, xr.DataArray, float]:
    """A quantity of trajectories from the same momenta, at the largest step usable with the ridge, and that step."""
    found, rates = (_by_step(tables, name) for name in (quantity, "leapfrog_acceptance"))
    usable = np.flatnonzero(rates[0].mean("repeat") >= USABLE_ACCEPT_RATE)
    if usable.size == 0:
        raise MissingData(f"no leapfrog step tried has an acceptance rate of {USABLE_ACCEPT_RATE}")
    near, far = found[:, usable[-1]]
    return near, far, float(near["leapfrog_step"])


def _by_step(tables: Tables, quantity: str) -> xr.DataArray:
    """A quantity [tolerance, step, repeat], in ascending order: with the ridge first."""
    found = tables.array(quantity, "ridge_tolerance", "leapfrog_step", "repeat")
    return found.sortby(["ridge_tolerance", "leapfrog_step"])


def exact_changes(tables: Tables) -> Measurement:
    """IM-IL-02, exact: changes per iteration, each of which might have been one."""
    changes = tables.values(_CHANGES, "noise_chain", noise=0.0)
    n = changes.size * tables.setting("n_draws", case="branches")
    return proportion(float(changes.mean()), n, f"in {n} iterations of {changes.size} chains")


def noisy_changes(tables: Tables) -> Measurement:
    """IM-IL-02, noisy: changes per iteration with noise."""
    changes = tables.values(_CHANGES, "noise_chain", noise=0.5)
    return mean_proportion(changes, tables.setting("n_draws", case="branches"))


def checking_cost(tables: Tables, model: str, quantity: str, note: str) -> Measurement:
    """IM-ALG-01: mean ratio of costs of chains that differ by the check alone."""
    read = partial(tables.values, quantity, "checked_model_check_repeat", checked_model=model)
    checked, unchecked = read(check="position"), read(check="none")
    return mean(checked / unchecked, f"{checked.size} chains, with and without {note}")


def growth_of_cost(quantity: str, size: str, tables: Tables) -> Measurement:
    """IM-ALG-05: power of a size with which a cost grows between the two largest."""
    costs = tables.array(quantity, size).sortby(size)[-2:]
    sizes = costs[size].values.astype(float)
    slope = np.diff(np.log(costs.values))[0] / np.diff(np.log(sizes))[0]
    return exact(float(slope), f"from {sizes[0]:g} to {sizes[1]:g}")


def growth_of_time(tables: Tables) -> Measurement:
    """IM-ALG-05, dense: the same of a time, whose error is unknown."""
    found = growth_of_cost("gram_dense_seconds", "dense_size", tables)
    return found._replace(error=np.nan, exact=False)


def few_and_many_inner_steps(tables: Tables, quantity: str) -> list[tuple[float, FloatArray]]:
    """Fewest and most sub-steps, each with a quantity of each chain [chain] at them."""
    found = tables.array(quantity, "inner_steps", "chain", table="chain", case="costs").sortby("inner_steps")
    return [(float(found["inner_steps"][place]), found[place].values) for place in (0, -1)]


def ess_by_inner_steps(tables: Tables) -> Measurement:
    """IM-ALG-08, gradients."""
    (few, low), (many, high) = few_and_many_inner_steps(tables, "ess_per_gradient")
    note = f"{many:g} sub-steps a step over {few:g}; means over {low.size} chains"
    return (mean(high) / mean(low)).noted(note)


def against_undivided(quantity: str, tables: Tables) -> Measurement:
    """IM-ALG-08: failures of undivided steps less those with most sub-steps; of others, these over theirs."""
    found = tables.array(quantity, "division", "chain", case="undivided")
    n_draws = tables.setting("n_cost_draws", case="undivided")
    whole, divided = (
        mean(part) if quantity == "ess_per_gradient" else mean_proportion(part, n_draws)
        for part in (found.sel(division=name).values for name in ("undivided", "divided"))
    )
    note = f"{whole.value:.4g} without sub-steps, {divided.value:.4g} with"
    return (whole - divided if quantity == "failed_share" else divided / whole).noted(note)


def smallest_singular_value(tables: Tables) -> Measurement:
    """IM-ALG-09."""
    noise_free = tables.value("noise_free_singular_value")
    noisy = tables.values("noisy_singular_value_over_scale", "noise")
    return exact(float(noisy.min()), f"without noise it is {noise_free:.0e}")


def largest_error(quantity: str, note: str, tables: Tables) -> Measurement:
    """IM-ALG-10: largest relative error of a formula over structures."""
    return exact(float(tables.values(quantity, "structure").max()), note)


def printed_ratio(tables: Tables) -> Measurement:
    """IM-ALG-10, as printed: of the structure that is farther from 1."""
    ratios = tables.values("printed_trace_ratio", "structure")
    return exact(float(ratios[np.abs(ratios - 1.0).argmax()]))


def energy_growth(tables: Tables) -> Measurement:
    """IM-ALG-11."""
    error = tables.values("largest_energy_error", "trajectory")
    failed = tables.value("n_failures", case="identities")
    note = f"largest error of {error.size} trajectories {error.max():.2g} nats; {failed:.0f} failed and are left out"
    return mean(tables.values("energy_error_growth", "trajectory"), note)


def small_noise(tables: Tables) -> Measurement:
    """IM-ALG-13: effective draws per second of constrained HMC over those of HMC, most over small noise scales."""
    dims = ("sampler", "small_noise")
    rates = tables.array("noise_ess_per_second", *dims, case="small_noise").sortby("small_noise")
    small = rates[:, rates["small_noise"].values <= _SMALL_NOISE]
    ratios = small.sel(sampler="constrained_hmc") / small.sel(sampler="hmc")
    listed = ", ".join(f"{float(ratio):.3g} at {float(ratio['small_noise']):g}" for ratio in ratios)
    return Measurement(float(ratios.max()), np.nan, listed)


def small_noise_by_evaluations(tables: Tables) -> Measurement:
    """IM-ALG-13: log of the same ratio for each evaluation, of geometric means over chains, HMC with its best steps."""
    dims = ("sampler", "small_noise", "chain")
    rates = tables.array("noise_ess_per_evaluation", *dims, case="small_noise")
    steps = tables.array("noise_hmc_steps", "small_noise", case="small_noise")

    def mean_log(sampler: str, scale: float) -> Measurement:
        return mean(np.log(rates.sel(sampler=sampler, small_noise=scale).values))

    small = [scale for scale in rates["small_noise"].values if scale <= _SMALL_NOISE]
    found = [mean_log("constrained_hmc", scale) - mean_log("hmc", scale) for scale in small]
    listed = ", ".join(
        f"{math.exp(one.value):.3g} times at {scale:g}, HMC with {float(steps.sel(small_noise=scale)):g} steps"
        for scale, one in zip(small, found, strict=True)
    )
    values, errors, *_ = zip(*found, strict=True)
    return largest(np.negative(values), errors, [listed] * len(found)) * -1.0


def rejection_exponent(tables: Tables) -> Measurement:
    """IM-ALG-15: slope of log acceptance rate in log tolerance over the dimension: largest distance from 1."""
    rates = tables.array("rejection_accept_rate", "dimension", "rejection_tolerance")
    n_simulations = tables.setting("n_simulations", case="identities")
    dimensions = rates["dimension"].values.astype(float)
    logs = np.log(rates["rejection_tolerance"].values.astype(float))
    weights = (logs - logs.mean()) / np.sum(np.square(logs - logs.mean()))
    slopes = np.log(rates.values) @ weights / dimensions
    # The counts of nested balls are correlated: the sum of the moduli bounds the error.
    errors = (np.abs(weights) / np.sqrt(n_simulations * rates.values)).sum(axis=1) / dimensions
    names = [f"{slope:.4f} in dimension {n:g}" for slope, n in zip(slopes, dimensions, strict=True)]
    return largest(np.abs(slopes - 1.0), errors, names)


def of_chains(tables: Tables, quantity: str, sampler: str) -> FloatArray:
    """A quantity of the chains on an image [chain]."""
    return tables.values(quantity, "sampler_chain", sampler=sampler)


def painted(tables: Tables, sampler: str) -> Measurement:
    """IM-MN-01."""
    return mean(of_chains(tables, "painted_acceptance", sampler), "our decoder of digits")


def painted_cost(tables: Tables, quantity: str) -> Measurement:
    """IM-MN-02: cost of an iteration of constrained HMC over that of one of HMC."""
    constrained, plain = (mean(of_chains(tables, quantity, name)) for name in ("constrained_hmc", "hmc"))
    found = (constrained / plain).noted(f"{constrained.value:.4g} and {plain.value:.4g} an iteration")
    # Chains of a method ran one after the other and share one time, which says nothing about its error.
    return found._replace(error=np.nan) if "seconds" in quantity else found


def painted_efficiency(tables: Tables, quantity: str) -> Measurement:
    """IM-MN-02: effective draws for their cost of constrained HMC over those of HMC; a time has no error, as above."""
    both, read = ("constrained_hmc", "hmc"), partial(of_chains, tables)
    constrained, plain = (read("painted_ess_per_iteration", n) / read(quantity, n).mean() for n in both)
    found = mean(constrained) / mean(plain)
    return found._replace(error=np.nan) if "seconds" in quantity else found


MEASURE: dict[str, dict[str, Measure]] = {
    "IM-IL-01": {
        "crossings of a ridge": crossings_of_ridge,
        "usable step": usable_step,
        "motion from the fibre": partial(motion_at_equal_steps, quantity="reach_from_fibre"),
        "motion at equal steps": partial(motion_at_equal_steps, quantity="leapfrog_reach"),
    },
    "IM-IL-02": {"exact": exact_changes, "noisy": noisy_changes},
    "IM-ALG-01": {
        f"{name}{ending}": partial(checking_cost, model=model, quantity=quantity, note=note)
        for name, model in _CHECKED.items()
        for ending, quantity, note in (
            ("", "check_seconds", "in turns"),
            (": evaluations", "check_work", "from the same streams"),
        )
    },
    "IM-ALG-05": {
        "dense": growth_of_time,
        "dense operations": partial(growth_of_cost, "gram_dense_operations", "dense_size"),
        "published updates, power of N": partial(growth_of_cost, "update_operations_by_size", "update_size"),
        "published updates, power of L": partial(growth_of_cost, "update_operations_by_rank", "update_rank"),
        "low rank operations": partial(growth_of_cost, "gram_markovian_operations", "structured_size"),
    },
    "IM-ALG-08": {
        "gradients": ess_by_inner_steps,
        "accepted per gradient, undivided": partial(against_undivided, "inner_acceptance"),
        "draws per gradient, undivided": partial(against_undivided, "ess_per_gradient"),
        "undivided steps": partial(against_undivided, "failed_share"),
    },
    "IM-ALG-09": {"noisy": smallest_singular_value},
    "IM-ALG-10": {
        **{
            name: partial(largest_error, quantity, note)
            for name, quantity, note in (
                ("potential", "potential_error", "diagonal and Markovian structure against dense algebra"),
                ("gradient", "gradient_error", "tangent part; diagonal and Markovian structure"),
                ("trace formula", "trace_formula_error", ""),
                ("vec formula, as printed", "printed_vec_error", ""),
            )
        },
        "trace formula, as printed": printed_ratio,
    },
    "IM-ALG-11": {"growth": energy_growth},
    "IM-ALG-12": {"metric": recorded("metric_error", exact=True)},
    "IM-ALG-13": {"small noise": small_noise, "small noise: evaluations": small_noise_by_evaluations},
    "IM-ALG-15": {"exponent": rejection_exponent},
    "IM-MN-01": {
        "constrained HMC": partial(painted, sampler="constrained_hmc"),
        "HMC": partial(painted, sampler="hmc"),
    },
    "IM-MN-02": {
        f"{name}: {cost}": partial(measure, quantity=f"painted_{unit}_per_iteration")
        for name, measure in (("dearer", painted_cost), ("overall", painted_efficiency))
        for cost, unit in (("time", "seconds"), ("passes", "passes"))
    },
}

NUMBERS: dict[str, Measure] = {}
