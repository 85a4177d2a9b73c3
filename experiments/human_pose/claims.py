"""What this study measures for each published claim, read from its two tables."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, exact
from auxmc_pipeline.error_rules import (
    bootstrap,
    bootstrap_groups,
    left_out,
    mean_fraction,
    mean_over_replicates,
    paired_ratio,
    ratio,
    ratio_of_means,
    smallest_fraction,
)
from auxmc_pipeline.tables import MissingData, Tables
from auxmc_pipeline.usable_steps import usable_step

_NAMES = {"constrained_hmc": "constrained HMC", "hmc": "HMC"}
# Errors fall along the run, and the published ones are those at its end.
_PUBLISHED_DRAWS = {"constrained_hmc": 200, "hmc": 1200}
_SCENES = (1, 2, 3)
# Acceptance rate of a chain that a step suits.
_STILL_MOVES = 0.5


def _fact(quantity: str, tables: Tables) -> Measurement:
    return exact(tables.summary.value(quantity, case="constrained_hmc"))


def _noise_over_span(tables: Tables) -> Measurement:
    fractions = tables.summary.array("noise_over_span", "scene", case="constrained_hmc").values
    return exact(float(fractions.max()), f"by scene {_listed(fractions)}")


def _residual(tables: Tables) -> Measurement:
    residuals = tables.summary.array("largest_residual", "chain", "scene", case="constrained_hmc").values
    return bootstrap(np.max, residuals)


def _largest_rank(tables: Tables) -> Measurement:
    ranks = tables.summary.array("rank", "jacobian", case="constrained_hmc").values
    # The generator is analytic, and the rank of its Jacobian the same at almost all inputs.
    return exact(
        float(ranks.max()), f"from {ranks.min():.0f} to {ranks.max():.0f} at {ranks.size} draws of the prior"
    )


def _smallest_noisy(tables: Tables) -> Measurement:
    values = tables.summary.array("smallest_noisy_singular_value", "jacobian", case="constrained_hmc")
    scale = tables.summary.value("noise_scale_used", case="constrained_hmc")
    # Without noise the rank is full nowhere, so that the smallest value is the same at all inputs.
    return exact(float(values.min()) / scale, f"at {values.size} draws of the prior")


# --- acceptance rates and steps ----------------------------------------------------------------------------


def _accept_at(case: str, step_size: float, tables: Tables) -> Measurement:
    """Smallest acceptance rate of a chain of HMC on scene 1 at a step."""
    rates = tables.summary.array("acceptance", "chain", case=case, step_size=step_size).values
    n_draws = tables.summary.setting("n_draws", case=case)
    return smallest_fraction(rates, n_draws, f"acceptance rates of the chains on scene 1 {_listed(rates)}")


def _smallest_at_larger_steps(case: str, tables: Tables) -> Measurement:
    """Smallest acceptance rate of HMC on scene 1 at a step above the published one that suits another chain."""
    rates = tables.summary.array("acceptance", "step_size", "chain", case=case)
    steps = rates["step_size"].values
    kept = (steps > tables.summary.value("step_size_used", case="hmc")) & (
        rates.values.max(axis=1) >= _STILL_MOVES
    )
    if not kept.any():
        raise MissingData("no chain moves at the larger steps tried at this preset")
    rows, tried = rates.values[kept], steps[kept]
    place = int(rows.min(axis=1).argmin())
    n_draws = tables.summary.setting("n_draws", case=case)
    return smallest_fraction(
        rows[place], n_draws, f"at {tried[place]:g} acceptance rates {_listed(rows[place])}"
    )


def _usable_step(case: str, tables: Tables) -> Measurement:
    return usable_step(tables.summary.array("acceptance_probability", "step_size", "chain", case=case))


def _step_ratio(tables: Tables) -> Measurement:
    ours, theirs = (_usable_step(case, tables) for case in ("constrained_steps", "steps"))
    return ratio(ours, theirs, f"steps {ours.value:.3g} and {theirs.value:.3g}, scene 1")


def _usable_over_published(tables: Tables) -> Measurement:
    return ratio(_usable_step("steps", tables), exact(tables.summary.value("step_size_used", case="hmc")))


def _smallest_step_that_stops(tables: Tables) -> Measurement:
    """The smallest step tried at which some chain accepts less than one proposal of ten."""
    rates = tables.summary.array("acceptance", "step_size", "chain", case="steps")
    stops = rates["step_size"].values[(rates < 0.1).any("chain").values]
    if stops.size == 0:
        raise MissingData("no chain stops at the steps tried at this preset")
    # Chains that stop decide, and other chains might stop earlier: no error is known.
    return Measurement(float(stops.min()), math.nan)


def _failed_share(tables: Tables) -> Measurement:
    failures = tables.summary.array("n_failures", "chain", "scene", case="constrained_hmc").values
    n_draws = tables.summary.setting("n_draws", case="constrained_hmc")
    where = f"in {np.sum(failures > 0)} of {failures.size} chains"
    note = f"{failures.sum():.0f} of {n_draws * failures.size} proposals, {where}"
    # Chains of one number have one start in all scenes.
    n_scenes = failures.shape[1]
    return mean_fraction(failures.sum(axis=1) / (n_scenes * n_draws), n_scenes * n_draws, note)


# --- modes and depth -----------------------------------------------------------------------------------


def _modes(case: str, tables: Tables) -> Measurement:
    factors = tables.summary.array("psrf", "scene", "joint", "axis", case=case).values
    without = tables.summary.array("largest_psrf_without_chain", "scene", "chain", case=case).values
    by_scene = tables.summary.array("largest_psrf", "scene", case=case).values
    note = (
        f"by scene {_listed(by_scene)}; fraction of joint coordinates above 1.2: {np.mean(factors > 1.2):.2f}"
    )
    return left_out(float(by_scene.max()), without.max(axis=0), note)


def _depth_over_front(tables: Tables) -> Measurement:
    depth, front = (
        tables.summary.array(name, "chain", case="monocular").values for name in ("rms_depth", "rms_front")
    )
    squares = paired_ratio(depth**2, front**2)
    pooled = math.sqrt(squares.value)
    note = f"all chains pooled; by chain {_listed(depth / front)}"
    return Measurement(pooled, squares.error / (2.0 * pooled), note)


# --- errors of the mean pose ---------------------------------------------------------------------------


def _error_at_the_end(case: str, scene: int, tables: Tables) -> Measurement:
    errors, four = (_published_errors(case, scene, name, tables) for name in ("rmse", "rmse_homogeneous"))
    note = f"scenes differ from the published ones; with four rows as published {four.mean():.3g}"
    return mean_over_replicates(errors, note)


def _published_errors(case: str, scene: int, quantity: str, tables: Tables) -> FloatArray:
    """Error of each chain's mean pose after the published number of iterations [chain]."""
    errors = tables.curves.array(quantity, "chain", "point", case=case, scene=scene).values
    counts = tables.curves.array("n_samples", "point", case=case).values
    return np.array([np.interp(_PUBLISHED_DRAWS[case] + 1, counts, one) for one in errors])


def _worst_scene_at_the_end(tables: Tables) -> Measurement:
    ours, theirs = (
        np.stack([_published_errors(case, scene, "rmse", tables) for scene in _SCENES], axis=1)
        for case in _NAMES
    )
    return _worst_scene(ours, theirs, [""] * len(_SCENES))


def _worst_scene_at_equal_time(tables: Tables) -> Measurement:
    found = [_at_equal_cost("time_s", ("constrained_hmc", "hmc"), scene, tables) for scene in _SCENES]
    ours, theirs = (np.stack([errors[place] for errors, _ in found], axis=1) for place in (0, 1))
    return _worst_scene(ours, theirs, [f" at {time_s:.2g} s" for _, time_s in found])


def _worst_scene(ours: FloatArray, theirs: FloatArray, when: Sequence[str]) -> Measurement:
    """Largest over scenes of the error of constrained HMC over that of HMC, from errors [chain, scene]."""
    notes = [
        f"scene {scene} {own:.3g} and {other:.3g}{at}"
        for scene, own, other, at in zip(_SCENES, ours.mean(axis=0), theirs.mean(axis=0), when, strict=True)
    ]
    return bootstrap_groups(
        lambda above, below: np.max(above.mean(axis=0) / below.mean(axis=0)),
        ours,
        theirs,
        note="constrained HMC and HMC: " + ", ".join(notes),
    )


def _one_step(cost: str, unit: str, tables: Tables) -> Measurement:
    (one, many), most = _at_equal_cost(cost, ("one_step", "hmc"), 1, tables)
    return ratio_of_means(one, many, f"scene 1, at {most:.2g} {unit}")


def _at_equal_cost(
    cost: str, cases: tuple[str, str], scene: int, tables: Tables
) -> tuple[list[FloatArray], float]:
    """Errors of two cases [chain] at the largest cost that all their chains reach, and that cost."""
    costs = [_costs(cost, case, scene, tables) for case in cases]
    errors = [tables.curves.array("rmse", "chain", "point", case=case, scene=scene).values for case in cases]
    most = min(float(ends.max(axis=1).min()) for ends in costs)
    return [
        np.array([np.interp(most, c, e) for c, e in zip(*both, strict=True)])
        for both in zip(costs, errors, strict=True)
    ], most


def _costs(cost: str, case: str, scene: int, tables: Tables) -> FloatArray:
    """Seconds (time_s), or gradients (n_work), that each chain had spent at the points of its curve [chain, point]."""
    if cost == "time_s":
        return tables.curves.array("time_s", "chain", "point", case=case, scene=scene).values
    work = tables.summary.array("work_per_iteration", "chain", case=case, scene=scene).values
    counts = tables.curves.array("n_samples", "point", case=case).values
    gradients: FloatArray = work[:, None] * (counts - 1.0)
    return gradients


def _notebook_error(case: str, tables: Tables) -> Measurement:
    """Error of the mean pose at the end of the runs in the settings of the notebook."""
    return mean_over_replicates(tables.summary.array("rmse", "chain", case=case).values)


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{value:.3g}" for value in np.ravel(values))


MEASURE: Measures = {
    "IM-PO-01": {
        "inputs": partial(_fact, "n_inputs"),
        "observed values": partial(_fact, "n_observed"),
        "joints": partial(_fact, "n_joints"),
        "joint angles": partial(_fact, "n_angles"),
        "bone lengths": partial(_fact, "n_bones"),
    },
    "IM-PO-02": {"largest rank": _largest_rank},
    "IM-PO-03": {
        "constrained HMC over HMC at equal time": _worst_scene_at_equal_time,
        "constrained HMC over HMC at the end": _worst_scene_at_the_end,
        **{
            f"{name} scene {scene}": partial(_error_at_the_end, case, scene)
            for scene in _SCENES
            for case, name in _NAMES.items()
        },
    },
    "IM-PO-04": {
        "smallest acceptance rate at 2e-4": partial(_accept_at, "steps", 2e-4),
        "smallest at larger steps": partial(_smallest_at_larger_steps, "steps"),
        "smallest at larger steps, one step": partial(_smallest_at_larger_steps, "one_step_larger"),
    },
    "IM-PO-05": {name: partial(_modes, case) for case, name in _NAMES.items()},
    "IM-PO-06": {"depth / front": _depth_over_front},
    "IM-PO-07": {"noise / span": _noise_over_span},
    "IM-PO-08": {
        "error of one step / many": partial(_one_step, "time_s", "s"),
        "error of one step / many at equal gradients": partial(_one_step, "n_work", "gradients"),
    },
    "IM-ALG-02": {"PO": _failed_share},
    "IM-ALG-03": {"PO": _residual},
    "IM-ALG-06": {"PO": _step_ratio},
    "IM-ALG-09": {"PO": _smallest_noisy},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "usable step of HMC over the published one": _usable_over_published,
    "smallest step at which a chain of HMC stops": _smallest_step_that_stops,
    "smallest acceptance rate of HMC at 8e-4": partial(_accept_at, "steps", 8e-4),
    "smallest acceptance rate of HMC at 1.6e-3": partial(_accept_at, "steps", 1.6e-3),
    "error of constrained HMC in the notebook's settings": partial(
        _notebook_error, "notebook_constrained_hmc"
    ),
    "error of HMC in the notebook's settings": partial(_notebook_error, "notebook_hmc"),
    "error of hierarchical HMC in the notebook's settings": partial(
        _notebook_error, "notebook_hierarchical_hmc"
    ),
}
