"""Measures the claims of the illustrations from their tables."""

from functools import partial

import numpy as np

from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import mean_over_replicates, ratio
from auxmc_pipeline.tables import Tables


def _mean(quantity: str, tables: Tables) -> Measurement:
    """Over trajectories with momenta of their own."""
    return mean_over_replicates(tables.summary.rows(quantity)["value"])


def _branch_changes(place: int, tables: Tables) -> tuple[float, Measurement]:
    """A noise scale by its place in their order, 0 for exact conditioning, and changes per iteration at it."""
    rows = tables.summary.rows("branch_changes_per_iteration")
    scale = sorted(rows["noise"].unique())[place]
    return scale, mean_over_replicates(rows.loc[rows["noise"] == scale, "value"])


def _exact_changes(tables: Tables) -> Measurement:
    changes = tables.summary.rows("branch_changes_per_iteration", noise=0.0)["value"]
    return Measurement(float(changes.sum()), 0.0)


def _noisy_changes(tables: Tables) -> Measurement:
    scale, changes = _branch_changes(-1, tables)
    return changes._replace(note=f"noise scale {scale:g}")


def _fall_of_changes(tables: Tables) -> Measurement:
    (small, few), (large, many) = (_branch_changes(place, tables) for place in (1, -1))
    return ratio(few, many, f"noise scale {small:g} over {large:g}")


def _largest(quantity: str, tables: Tables, note: str = "") -> Measurement:
    return Measurement(float(tables.summary.rows(quantity)["value"].max()), 0.0, note)


def _smallest_singular_value(tables: Tables) -> Measurement:
    noise_free = tables.summary.value("noise_free_singular_value")
    noisy = tables.summary.rows("noisy_singular_value_over_scale")["value"]
    return Measurement(float(noisy.min()), 0.0, f"without noise it is {noise_free:.0e}")


def _energy_growth(tables: Tables) -> Measurement:
    error = tables.summary.rows("largest_energy_error")["value"].max()
    note = f"largest error over 2000 steps and all trajectories {error:.2g} nats"
    return _mean("energy_error_growth", tables)._replace(note=note)


def _rejection_exponent(tables: Tables) -> Measurement:
    """Slope of log accept rate in log tolerance over the dimension, from counts; worst dimension."""
    rates = tables.summary.array("rejection_accept_rate", "dimension", "rejection_tolerance")
    n_simulations = tables.summary.setting("n_simulations", quantity="rejection_accept_rate")
    dimensions = rates["dimension"].values.astype(float)
    logs = np.log(rates["rejection_tolerance"].values.astype(float))
    weights = (logs - logs.mean()) / np.sum(np.square(logs - logs.mean()))
    slopes = np.log(rates.values) @ weights / dimensions
    # The counts of nested balls are correlated: the sum of the moduli bounds the error.
    errors = (np.abs(weights) / np.sqrt(n_simulations * rates.values)).sum(axis=1) / dimensions
    worst = int(np.abs(slopes - 1.0).argmax())
    note = f"dimension {dimensions[worst]:g}; 1 in the limit of small tolerances"
    return Measurement(float(slopes[worst]), float(errors[worst]), note)


def _rejection_exact(tables: Tables) -> Measurement:
    rates, exact = (
        tables.summary.array(quantity, "dimension", "rejection_tolerance").values
        for quantity in ("rejection_accept_rate", "rejection_exact_rate")
    )
    n_simulations = tables.summary.setting("n_simulations", quantity="rejection_accept_rate")
    scores = (rates - exact) / np.sqrt(exact * (1.0 - exact) / n_simulations)
    return Measurement(float(np.abs(scores).max()), 0.0, f"largest of {scores.size} standardised differences")


def _slope(quantity: str, size: str, tables: Tables) -> Measurement:
    """Growth of the time between the two largest sizes."""
    seconds = tables.summary.array(quantity, size).sortby(size)[-2:]
    sizes = seconds[size].values.astype(float)
    slope = np.diff(np.log(seconds.values))[0] / np.diff(np.log(sizes))[0]
    return Measurement(float(slope), np.nan, f"from {sizes[0]:g} to {sizes[1]:g} observations")


def _ess_by_inner_steps(tables: Tables) -> Measurement:
    (few, low), (many, high) = _few_and_many_inner_steps("ess_per_gradient", tables)
    return Measurement(high / low, np.nan, f"{many:g} sub-steps a step over {few:g}")


def _failures_by_inner_steps(tables: Tables) -> Measurement:
    (few, low), (many, high) = _few_and_many_inner_steps("failed_share", tables)
    return Measurement(high - low, 0.0, f"{high:.2g} at {many:g} sub-steps, {low:.2g} at {few:g}")


def _few_and_many_inner_steps(quantity: str, tables: Tables) -> list[tuple[float, float]]:
    """Fewest and most sub-steps, each with a quantity at them."""
    rows = tables.summary.rows(quantity).sort_values("inner_steps").iloc[[0, -1]]
    return [(float(n), float(value)) for n, value in zip(rows["inner_steps"], rows["value"], strict=True)]


def _small_noise(tables: Tables) -> Measurement:
    rates = tables.summary.array("noise_ess_per_second", "sampler", "small_noise").sortby("small_noise")
    small = rates[:, rates["small_noise"].values <= 0.05]
    ratios = small.sel(sampler="constrained_hmc") / small.sel(sampler="hmc")
    listed = ", ".join(f"{float(ratio):.3g} at {float(ratio['small_noise']):g}" for ratio in ratios)
    return Measurement(float(ratios.min()), np.nan, listed)


MEASURE: Measures = {
    "IM-IL-01": {"crossings": partial(_mean, "crossings"), "net over path": partial(_mean, "net_over_path")},
    "IM-IL-02": {"exact": _exact_changes, "noisy": _noisy_changes, "falls": _fall_of_changes},
    "IM-ALG-01": {
        "rates": partial(_largest, "check_time_ratio", note="Lotka-Volterra, published constraint")
    },
    "IM-ALG-05": {
        "dense": partial(_slope, "gram_dense_seconds", "dense_size"),
        "structured": partial(_slope, "gram_structured_seconds", "structured_size"),
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
    "IM-ALG-13": {"small noise": _small_noise},
    "IM-ALG-15": {"exponent": _rejection_exponent, "exact rate": _rejection_exact},
}
