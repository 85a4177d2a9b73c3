"""Measures the claims of the illustrations from their tables."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, mean_over_replicates, measure_settings
from auxmc_pipeline.lookup import rows_of


def oscillation(summary: pd.DataFrame, curves: pd.DataFrame) -> Mapping[str, Measurement]:
    """IM-IL-01, over trajectories with momenta of their own."""
    del curves
    return {
        "crossings": mean_over_replicates(_values(summary, "crossings")),
        "net over path": mean_over_replicates(_values(summary, "net_over_path")),
    }


def branches(summary: pd.DataFrame, curves: pd.DataFrame) -> Mapping[str, Measurement]:
    """IM-IL-02."""
    del curves
    rows = summary[summary["quantity"] == "branch_changes_per_iteration"]
    rates = {noise: rows.loc[rows["noise"] == noise, "value"].to_numpy(float) for noise in set(rows["noise"])}
    scales = sorted(scale for scale in rates if scale > 0.0)
    smallest, largest = (mean_over_replicates(rates[scale]) for scale in (scales[0], scales[-1]))
    ratio = smallest.value / largest.value if largest.value > 0.0 else np.nan
    relative = np.hypot(
        smallest.error / largest.value if largest.value > 0.0 else np.nan,
        ratio * largest.error / largest.value if largest.value > 0.0 else np.nan,
    )
    note = f"noise scale {scales[0]:g} over {scales[-1]:g}"
    return {
        "exact": Measurement(float(rates[0.0].sum()), 0.0),
        "noisy": largest._replace(note=f"noise scale {scales[-1]:g}"),
        "falls": Measurement(float(ratio), float(relative), note),
    }


def _largest(quantity: str, note: str = "") -> Callable[[pd.DataFrame], Measurement]:
    return lambda summary: Measurement(float(rows_of(summary, quantity)["value"].max()), 0.0, note)


def _smallest_singular_value(summary: pd.DataFrame) -> Measurement:
    noise_free = float(rows_of(summary, "noise_free_singular_value")["value"].iloc[0])
    rows = rows_of(summary, "noisy_singular_value_over_scale")
    return Measurement(float(rows["value"].min()), 0.0, f"without noise it is {noise_free:.0e}")


def _energy_growth(summary: pd.DataFrame) -> Measurement:
    rows = rows_of(summary, "energy_error_growth")["value"].to_numpy(float)
    largest = float(rows_of(summary, "largest_energy_error")["value"].max())
    return mean_over_replicates(rows)._replace(
        note=f"largest error over 2000 steps and all trajectories {largest:.2g} nats"
    )


def _rejection_exponent(summary: pd.DataFrame) -> Measurement:
    """Slope of log accept rate in log tolerance over the dimension, from counts; worst dimension."""
    rows = rows_of(summary, "rejection_accept_rate")
    n_simulations = int(rows["n_simulations"].iloc[0])
    found = []
    for dimension in rows["dimension"].unique():
        part = rows[rows["dimension"] == dimension]
        logs = np.log(part["rejection_tolerance"].to_numpy(float))
        rates = part["value"].to_numpy(float)
        weights = (logs - logs.mean()) / np.sum(np.square(logs - logs.mean()))
        # The counts of nested balls are correlated: the sum of the moduli bounds the error.
        errors = np.abs(weights) / np.sqrt(n_simulations * rates)
        found.append((weights @ np.log(rates) / float(dimension), errors.sum() / float(dimension), dimension))
    slope, error, dimension = max(found, key=lambda row: abs(row[0] - 1.0))
    return Measurement(
        float(slope), float(error), f"dimension {float(dimension):g}; 1 in the limit of small tolerances"
    )


def _rejection_exact(summary: pd.DataFrame) -> Measurement:
    rates = rows_of(summary, "rejection_accept_rate")["value"].to_numpy(float)
    exact = rows_of(summary, "rejection_exact_rate")["value"].to_numpy(float)
    n_simulations = int(rows_of(summary, "rejection_accept_rate")["n_simulations"].iloc[0])
    scores = (rates - exact) / np.sqrt(exact * (1.0 - exact) / n_simulations)
    return Measurement(float(np.abs(scores).max()), 0.0, f"largest of {scores.size} standardised differences")


def _slope(quantity: str, size: str) -> Callable[[pd.DataFrame], Measurement]:
    def measure(summary: pd.DataFrame) -> Measurement:
        rows = rows_of(summary, quantity).sort_values(size).iloc[-2:]
        sizes, seconds = rows[size].to_numpy(float), rows["value"].to_numpy(float)
        slope = np.diff(np.log(seconds))[0] / np.diff(np.log(sizes))[0]
        return Measurement(float(slope), np.nan, f"from {sizes[0]:g} to {sizes[1]:g} observations")

    return measure


def _ess_by_inner_steps(summary: pd.DataFrame) -> Measurement:
    few, many = _ends(summary, "ess_per_gradient", "inner_steps")
    return Measurement(many[1] / few[1], np.nan, f"{many[0]:g} sub-steps a step over {few[0]:g}")


def _failures_by_inner_steps(summary: pd.DataFrame) -> Measurement:
    few, many = _ends(summary, "failed_share", "inner_steps")
    return Measurement(
        many[1] - few[1], 0.0, f"{many[1]:.2g} at {many[0]:g} sub-steps, {few[1]:.2g} at {few[0]:g}"
    )


def _small_noise(summary: pd.DataFrame) -> Measurement:
    rows = rows_of(summary, "noise_ess_per_second")
    table = rows.pivot_table(index="small_noise", columns="sampler", values="value")
    ratios = (table["constrained_hmc"] / table["hmc"]).loc[lambda r: r.index <= 0.05]
    listed = ", ".join(f"{ratio:.3g} at {scale:g}" for scale, ratio in ratios.items())
    return Measurement(float(ratios.min()), np.nan, listed)


MEASURE: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Mapping[str, Measurement]]] = {
    "IM-IL-01": oscillation,
    "IM-IL-02": branches,
    "IM-ALG-01": measure_settings(
        {"rates": _largest("check_time_ratio", "Lotka-Volterra, published constraint")}
    ),
    "IM-ALG-05": measure_settings(
        {
            "dense": _slope("gram_dense_seconds", "dense_size"),
            "structured": _slope("gram_structured_seconds", "structured_size"),
        }
    ),
    "IM-ALG-08": measure_settings({"gradients": _ess_by_inner_steps, "failures": _failures_by_inner_steps}),
    "IM-ALG-09": measure_settings({"noisy": _smallest_singular_value}),
    "IM-ALG-10": measure_settings(
        {
            "potential": _largest(
                "potential_error", "diagonal and Markovian structure against dense algebra"
            ),
            "gradient": _largest("gradient_error", "tangent part; diagonal and Markovian structure"),
            "trace formula": _largest("trace_formula_error"),
        }
    ),
    "IM-ALG-11": measure_settings({"growth": _energy_growth}),
    "IM-ALG-12": measure_settings({"metric": _largest("metric_error")}),
    "IM-ALG-13": measure_settings({"small noise": _small_noise}),
    "IM-ALG-15": measure_settings({"exponent": _rejection_exponent, "exact rate": _rejection_exact}),
}


def _ends(summary: pd.DataFrame, quantity: str, column: str) -> list[tuple[float, float]]:
    rows = rows_of(summary, quantity).sort_values(column)
    return [(float(rows[column].iloc[i]), float(rows["value"].iloc[i])) for i in (0, -1)]


def _values(summary: pd.DataFrame, quantity: str) -> FloatArray:
    return summary.loc[summary["quantity"] == quantity, "value"].to_numpy(float)
