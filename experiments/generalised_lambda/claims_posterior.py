"""Measures the claims about the data, the posteriors and whether chains agree: IM-GL-01 to IM-GL-05, IM-GL-19."""

from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.diagnostics.coda import scale_reduction_of_moments
from auxmc.numerics.array_types import IntegerArray
from auxmc_pipeline.claims import Measurement, Measures, exact
from auxmc_pipeline.error_rules import bootstrap_groups, fraction_of_replicates, jackknife, largest, smallest
from auxmc_pipeline.tables import Tables
from experiments.generalised_lambda.lookup import (
    CASE_NAMES,
    GENERATING,
    PARAMETERS,
    TARGETS,
    chain_moment,
    reference_moment,
    values_of,
)


def _fact(quantity: str, tables: Tables, note: str = "") -> Measurement:
    """A number of the data, which no prior changes."""
    return exact(float(values_of(tables, "reference", quantity, prior=None)), note)


def _moment(case: str, moment: str, parameter: str, tables: Tables) -> Measurement:
    """Posterior mean or sd of a parameter by chains."""
    place = PARAMETERS.index(parameter)
    values, errors = chain_moment(tables, case, moment)
    return Measurement(float(values[place]), float(errors[place]))


def _distance_from_truth(tables: Tables) -> Measurement:
    mean, error = chain_moment(tables, "constrained_hmc", "mean")
    sd, _ = chain_moment(tables, "constrained_hmc", "sd")
    found = largest(np.abs(mean - list(GENERATING.values())) / sd, error / sd, PARAMETERS)
    return found._replace(note=f"{found.note} is the farthest")


def _sd_ratio(wider: str, tables: Tables) -> Measurement:
    """Smallest over parameters of the sd of a reference posterior over the widest of the other methods."""
    own, own_error = reference_moment(tables, "sd", TARGETS[wider])
    others = [target for case, target in TARGETS.items() if case != wider]
    spreads, errors = np.stack([reference_moment(tables, "sd", target) for target in others], axis=1)
    widest = spreads.argmax(axis=0)[None]
    other, other_error = (np.take_along_axis(table, widest, 0)[0] for table in (spreads, errors))
    ratios = own / other
    error = ratios * np.hypot(own_error / own, other_error / other)
    listed = ", ".join(f"{name} {ratio:.3f}" for name, ratio in zip(PARAMETERS, ratios, strict=True))
    return smallest(ratios, error, PARAMETERS)._replace(note=listed)


def _mean_sd_ratio(wider: str, narrower: str, tables: Tables) -> Measurement:
    """Mean over parameters of the ratio of the sds of two reference posteriors."""
    above, above_error = reference_moment(tables, "sd", TARGETS[wider])
    below, below_error = reference_moment(tables, "sd", TARGETS[narrower])
    ratios = above / below
    # Errors of the parameters go together: they come from the same draws.
    error = (np.hypot(above_error / above, below_error / below) * ratios).mean()
    listed = ", ".join(f"{name} {ratio:.3f}" for name, ratio in zip(PARAMETERS, ratios, strict=True))
    return Measurement(float(ratios.mean()), float(error), listed)


def _estimated_sd_ratio(wider: str, narrower: str, tables: Tables) -> Measurement:
    """Mean over parameters of the ratio of the sds that chains estimate, the median over those that moved."""
    moved = [
        values_of(tables, case, "chain_sd", "parameter", "chain").T[
            values_of(tables, case, "acceptance", "chain") > 0.0
        ]
        for case in (wider, narrower)
    ]
    return bootstrap_groups(
        lambda above, below: (np.median(above, axis=0) / np.median(below, axis=0)).mean(),
        *moved,
        note=f"chains that moved: {len(moved[0])} and {len(moved[1])}",
    )


def _largest_psrf(case: str, tables: Tables) -> Measurement:
    means, sds = (values_of(tables, case, name, "parameter", "chain") for name in ("chain_mean", "chain_sd"))
    n_draws = tables.summary.setting("n_draws", case=case)
    joint = float(values_of(tables, case, "psrf_multivariate"))

    def factor(kept: IntegerArray) -> float:
        return float(scale_reduction_of_moments(means[:, kept], sds[:, kept] ** 2, n_draws).point.max())

    return jackknife(factor, means.shape[1], f"multivariate factor {joint:.3f}")


def _prior_shift(tables: Tables) -> Measurement:
    strong, strong_error = reference_moment(tables, "mean", "exact")
    weak, weak_error = reference_moment(tables, "mean", "exact", prior="weak")
    sd, _ = reference_moment(tables, "sd", "exact")
    shifts = (weak - strong) / sd
    note = ", ".join(f"{name} {shift:.2g}" for name, shift in zip(PARAMETERS, shifts, strict=True))
    found = largest(np.abs(shifts), np.hypot(strong_error, weak_error) / sd, PARAMETERS)
    return found._replace(note=f"reference posteriors, weak less strong: {note}")


def _fraction_far_off(tables: Tables) -> Measurement:
    """Chains of constrained HMC under the weak prior whose mean of z3 is ten posterior sd from the reference."""
    means = values_of(tables, "constrained_hmc", "chain_mean", "parameter", "chain", prior="weak")
    place = PARAMETERS.index("z3")
    exact_mean, sd = (
        reference_moment(tables, moment, "exact", "weak")[0][place] for moment in ("mean", "sd")
    )
    return fraction_of_replicates(np.abs(means[place] - exact_mean) > 10.0 * sd)


def _fraction_still(tables: Tables) -> Measurement:
    """Chains of constrained HMC under the weak prior that stay at one state for half of their iterations."""
    longest = values_of(tables, "constrained_hmc", "longest_run", "chain", prior="weak")
    return fraction_of_replicates(longest >= 0.5 * tables.summary.setting("n_draws", case="constrained_hmc"))


MEASURE: Measures = {
    "IM-GL-01": {
        "largest difference": partial(_fact, "data_difference", note="all published values"),
        "observations": partial(_fact, "n_observations"),
    },
    "IM-GL-02": {
        "posterior mean z1": partial(_moment, "constrained_hmc", "mean", "z1"),
        "posterior sd z1": partial(_moment, "constrained_hmc", "sd", "z1"),
        "largest distance": _distance_from_truth,
    },
    "IM-GL-03": {
        "sd at 0.25 / widest of the others": partial(_sd_ratio, "abc_hmc_025"),
        "sd z3 at tolerance 0.25": partial(_moment, "abc_hmc_025", "sd", "z3"),
        "sd at 0.05 / modified ABC": partial(_estimated_sd_ratio, "abc_hmc_005", "modified_abc"),
        "sd at 0.05 / constrained HMC": partial(_estimated_sd_ratio, "abc_hmc_005", "constrained_hmc"),
    },
    "IM-GL-04": {"largest PSRF": partial(_largest_psrf, "abc_hmc_005")},
    "IM-GL-05": {name: partial(_largest_psrf, case) for case, name in CASE_NAMES.items()},
    "IM-GL-19": {"largest shift": _prior_shift},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "exact sd at 0.05 over modified ABC": partial(_mean_sd_ratio, "abc_hmc_005", "modified_abc"),
    "exact sd at 0.05 over constrained HMC": partial(_mean_sd_ratio, "abc_hmc_005", "constrained_hmc"),
    "smallest observation": partial(_fact, "data_min"),
    "largest observation": partial(_fact, "data_max"),
    "fraction of weak prior chains that stand still": _fraction_still,
    "fraction of weak prior chains far from the posterior": _fraction_far_off,
}
