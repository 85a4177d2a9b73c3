"""Measures the claims IM-PO-01 to IM-PO-08 and IM-ALG-02 to IM-ALG-13, and numbers of the findings."""

import math
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import comb

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import (
    Measurement,
    estimate,
    exact,
    largest_of,
    mean,
    mean_proportion,
    proportion_of,
)
from auxmc_pipeline.tables import Measure, MissingData, Tables, first_run, recorded
from auxmc_pipeline.usable_steps import usable_step
from experiments.human_pose.measure import PUBLISHED_CHAINS

_NAMES = {"constrained_hmc": "constrained HMC", "hmc": "HMC"}
# Errors fall along the run, and the published ones are those at its end.
_PUBLISHED_DRAWS = {"constrained_hmc": 200, "hmc": 1200}
_SCENES = (1, 2, 3)
_STILL_MOVES = 0.5  # Acceptance rate of a chain that a step suits.
_HARDLY_MOVES = 0.1  # "Very few or no updates."
_DISAGREE = 1.2  # The usual sign that chains disagree.
_SPAN_OF_AXES = 4.0  # From -2 to 2 in the author's `pose_visualisation.py`.
# IM-PO-05: distance of another mode in spreads of a chain, and misfit of chains that fit, in noise sds.
_OTHER_MODE, _FITS = 4.0, 1.2


def noise_over_span(tables: Tables) -> Measurement:
    """IM-PO-07: noise over the span of images of our scenes; the note has that over the axes of the author's images."""
    noise, fractions = (
        tables.values(name, "point", case="constrained_hmc")
        for name in ("noise_scale_used", "noise_over_span")
    )
    return mean(
        fractions, f"images of {fractions.size} scenes; over the author's axes {noise[0] / _SPAN_OF_AXES:g}"
    )


def largest_rank(tables: Tables) -> Measurement:
    """IM-PO-02: the generator is analytic, and the rank of its Jacobian the same at almost all inputs."""
    ranks = tables.values("rank", "jacobian", case="constrained_hmc")
    spread = f"from {ranks.min():.0f} to {ranks.max():.0f}"
    return exact(ranks.max(), f"{spread} at {ranks.size} draws of the prior")


def smallest_noisy(tables: Tables) -> Measurement:
    """IM-ALG-09: without noise the rank is full nowhere, so that the smallest value is the same at all inputs."""
    values = tables.values("smallest_noisy_singular_value", "jacobian", case="constrained_hmc")
    scale = tables.value("noise_scale_used", case="constrained_hmc")
    return exact(values.min() / scale, f"at {values.size} draws of the prior")


def acceptance_by_step(tables: Tables, case: str, quantity: str = "acceptance") -> xr.DataArray:
    """Acceptance rates of HMC on scene 1 by step_size and chain."""
    return tables.array(quantity, "step_size", "chain", table="chain", case=case)


def stop_in_some_scene(tables: Tables, case: str, **step_size: float) -> Measurement:
    """IM-PO-04: chains of HMC, further ones among them, that accept hardly anything in one of three scenes."""
    cases = [first_run(tables, f"{case}_many", case), f"{case}_more"]
    rows = tables.rows("chain", "acceptance", case=cases, **step_size)
    note = (
        f"smallest acceptance rates by scene {_listed(rows.groupby('scene')['acceptance'].min().to_numpy())}"
    )
    stops = rows["acceptance"] < _HARDLY_MOVES
    return proportion_of(stops.groupby([rows["case"], rows["chain"]]).any().to_numpy(), note)


def stop_where_most_move(tables: Tables, case: str) -> Measurement:
    """IM-PO-04: chains that accept hardly anything at the largest step at which most accept half."""
    rates = acceptance_by_step(tables, first_run(tables, f"{case}_many", case)).sortby("step_size")
    is_larger = rates["step_size"] > tables.value("step_size_used", case="hmc")
    kept = rates[(is_larger & (rates.median("chain") >= _STILL_MOVES)).values]
    if not kept.size:
        raise MissingData("at none of the larger steps tried at this preset do most chains move")
    last, each = float(kept["step_size"][-1]), (rates < _HARDLY_MOVES).sum("chain")
    listed = ", ".join(f"{int(n)} at {float(n['step_size']):g}" for n in each)
    return proportion_of(kept[-1].values < _HARDLY_MOVES, f"scene 1, step {last:g}; {listed}")


def usable(tables: Tables, case: str) -> Measurement:
    """The step at which the mean acceptance rate on scene 1 falls to that at which steps are compared."""
    return usable_step(acceptance_by_step(tables, case, "acceptance_probability"))


def step_ratio(tables: Tables) -> Measurement:
    """IM-ALG-06."""
    cases = (first_run(tables, f"{case}_many", case) for case in ("constrained_steps", "steps"))
    ours, theirs = (usable(tables, case) for case in cases)
    return (ours / theirs).noted(f"steps {ours.value:.3g} and {theirs.value:.3g}, scene 1")


def failed_proposals(tables: Tables) -> Measurement:
    """IM-ALG-02."""
    case = "constrained_hmc_fallback"
    failures = tables.array("n_failures", "chain", "scene", table="chain", case=case).values
    n_draws = tables.setting("n_draws", case=case)
    chains = f"in {np.sum(failures > 0)} of {failures.size} chains"
    note = f"{failures.sum():.0f} of {n_draws * failures.size} proposals, {chains}"
    # Chains of one number have one start in all scenes.
    n_trials = failures.shape[1] * n_draws
    return mean_proportion(failures.sum(axis=1) / n_trials, n_trials, note)


def different_modes(tables: Tables, which: str) -> Measurement:
    """IM-PO-05: proportion of all sets of five chains of constrained HMC that are not all in one mode, over scenes."""
    case = first_run(tables, "constrained_hmc_many", "constrained_hmc")
    # Chains of one number start at the same point in all scenes.
    is_off = np.stack([in_another_mode(tables, case, scene, which) for scene in _SCENES], axis=1)
    if np.isfinite(is_off).sum(axis=0).min() < 2 * PUBLISHED_CHAINS:
        raise MissingData("two sets of five chains: not run at this preset")

    def differ(is_off: FloatArray) -> FloatArray:
        n_off, n_on = ((is_off == value).sum(axis=0) for value in (1.0, 0.0))
        together = comb(n_off, PUBLISHED_CHAINS) + comb(n_on, PUBLISHED_CHAINS)
        return np.asarray(1.0 - together / comb(n_off + n_on, PUBLISHED_CHAINS))

    note = f"by scene {_listed(differ(is_off))}"
    return estimate(lambda is_off: differ(is_off).mean(), is_off, method="jackknife", note=note)


def in_another_mode(tables: Tables, case: str, scene: int, which: str) -> FloatArray:
    """1 for a chain whose mean pose is off the median pose of all at some joint coordinate, 0 for others [chain].

    Those that do not "fit" the images, or have not "moved", are NaN and left out.
    """
    where: dict[str, Any] = {"case": case, "scene": scene}
    place = ("chain", "joint", "axis")
    poses = tables.array("mean_position", *place, table="chain_joint_axis", **where).sortby("chain").values
    misfit, acceptance, spreads = (
        tables.array(name, "chain", table="chain", **where).sortby("chain").values
        for name in ("misfit", "acceptance", "spread_within")
    )
    kept = misfit < _FITS if which == "fit" else acceptance >= _HARDLY_MOVES
    distances = np.abs(poses - np.median(poses[kept], axis=0)).max(axis=(1, 2))
    return np.where(kept, distances > _OTHER_MODE * np.median(spreads[kept]), np.nan)


def disagree_more_often(tables: Tables) -> Measurement:
    """IM-PO-05: proportion of sets, paired by starts, with a large PSRF, of HMC over that of constrained HMC."""
    quantity, table = "largest_psrf_of_set", "chain_set"
    factors = [
        tables.array(quantity, table, "scene", table=table, case=f"{case}_many")
        for case in ("hmc", "constrained_hmc")
    ]
    theirs, ours = (both.values > _DISAGREE for both in xr.align(*factors))
    note = f"{theirs.sum()} and {ours.sum()} of {ours.size} sets"
    return estimate(
        lambda above, below: above.mean() / below.mean(), theirs, ours, method="paired", note=note
    )


def depth_over_front(tables: Tables) -> Measurement:
    """IM-PO-06, by the words."""
    depth, front = (tables.values(name, case="monocular") for name in ("rms_depth", "rms_front"))
    squares = estimate(lambda a, b: a.mean() / b.mean(), depth**2, front**2, method="paired")
    pooled = math.sqrt(squares.value)
    note = f"all chains pooled; by chain {_listed(depth / front)}"
    return Measurement(pooled, squares.error / (2.0 * pooled), note)


def spread_over_two_images(tables: Tables) -> Measurement:
    """IM-PO-06: spread of poses of a chain given one image over that given two, of the second halves, in scene 1."""
    one_image = first_run(tables, "monocular_short", "monocular")
    two_images = first_run(tables, "constrained_hmc_many", "constrained_hmc")
    one, two = (
        tables.values("spread_within", **where) for where in ({"case": one_image}, _scene(two_images, 1))
    )
    return estimate(lambda one, two: one.mean() / two.mean(), one, two)


def chains_that_fit(tables: Tables) -> Measurement:
    """IM-PO-06: chains given one image that are consistent with it."""
    misfit = tables.values("misfit", case="monocular")
    return proportion_of(misfit < _FITS, f"largest misfit {misfit.max():.3g} noise standard deviations")


def error_at_the_end(tables: Tables, case: str, scene: int) -> Measurement:
    """IM-PO-03: after the published number of iterations."""
    three, four = (published_errors(tables, case, scene, name) for name in ("rmse", "rmse_homogeneous"))
    return mean(four, f"scenes differ from the published ones; of three rows {three.mean():.3g}")


def published_errors(tables: Tables, case: str, scene: int, quantity: str = "rmse") -> FloatArray:
    """Error of each chain's mean pose after the published number of iterations [chain]."""
    errors = tables.array(quantity, "chain", "point", **_scene(case, scene)).values
    counts = tables.values("n_samples", "points", case=case)
    return np.array([np.interp(_PUBLISHED_DRAWS[case] + 1, counts, one) for one in errors])


def worst_scene(tables: Tables, at_equal_time: bool) -> Measurement:
    """IM-PO-03: largest over scenes of the error of constrained HMC over that of HMC.

    Errors are those at the ends of the published runs, or after the time that all chains of a scene have run.
    """
    ratios, notes = {}, []
    for scene in _SCENES:
        if at_equal_time:
            errors, time_s = at_equal_cost(tables, "time_s", tuple(_NAMES), scene)
            at = f" at {time_s:.2g} s"
        else:
            errors, at = [published_errors(tables, case, scene) for case in _NAMES], ""
        own, other = map(mean, errors)
        ratios[str(scene)] = own / other
        notes.append(f"scene {scene} {own.value:.3g} and {other.value:.3g}{at}")
    return largest_of(ratios).noted("constrained HMC and HMC: " + ", ".join(notes))


def one_step(tables: Tables, cost: str, unit: str) -> Measurement:
    """IM-PO-08: log of the error of HMC with one step over that with many, at equal cost, paired by starts."""
    # Times are compared within the runs of one machine.
    names = ("one_step", "hmc")
    cases = names if cost == "time_s" else tuple(first_run(tables, f"{name}_many", name) for name in names)
    (one, many), most = at_equal_cost(tables, cost, cases, 1)
    note = f"scene 1, at {most:.2g} {unit}: {one.mean():.3g} and {many.mean():.3g}"
    return mean(np.log(one / many), note)


def at_equal_cost(
    tables: Tables, cost: str, cases: tuple[str, ...], scene: int
) -> tuple[list[FloatArray], float]:
    """Errors of two cases [chain] at the largest cost (time_s or n_work) that all their chains reach, and that cost."""
    costs = []
    for case in cases:
        where = _scene(case, scene)
        if cost == "time_s":
            costs.append(tables.array("time_s", "chain", "point", **where).values)
        else:
            work = tables.values("work_per_iteration", **where)
            costs.append(work[:, None] * (tables.values("n_samples", "points", case=case) - 1.0))
    most = min(float(ends.max(axis=1).min()) for ends in costs)
    errors = [tables.array("rmse", "chain", "point", **_scene(case, scene)).values for case in cases]
    return [
        np.array([np.interp(most, c, e) for c, e in zip(*both, strict=True)])
        for both in zip(costs, errors, strict=True)
    ], most


def notebook_error(tables: Tables, method: str) -> Measurement:
    """Error of the mean pose at the end of the runs in the settings of the notebook."""
    return mean(tables.values("rmse", case=f"notebook_{method}"))


def _scene(case: str, scene: int) -> dict[str, Any]:
    """Where a scene of a case is; the two compared methods run all scenes, the others the first."""
    return {"case": case, "scene": scene} if case.removesuffix("_many") in _NAMES else {"case": case}


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{value:.3g}" for value in np.ravel(values))


def converged(tables: Tables) -> Measurement:
    """IM-ALG-03: proportion of projections, forward and reverse, that converge at the tolerance, in three scenes."""
    case = first_run(tables, "constrained_hmc_many", "constrained_hmc")
    names = ("work_per_iteration", "n_not_converged", "n_not_converged_reverse", "largest_residual")
    work, *failures, residuals = (
        tables.array(name, "chain", "scene", table="chain", case=case).values for name in names
    )
    counts = work * tables.setting("n_draws", case=case)
    note = f"largest residual of a stored state {residuals.max():.2g}"
    # Chains of one number have one start in all scenes.
    proportions = 1.0 - np.sum(failures, axis=(0, 2)) / counts.sum(axis=1)
    return mean_proportion(proportions, counts.sum(axis=1).mean(), note)


MEASURE: dict[str, dict[str, Measure]] = {
    "IM-PO-01": {
        name: recorded(quantity, exact=True, case="constrained_hmc")
        for name, quantity in (
            ("inputs", "n_inputs"),
            ("observed values", "n_observed"),
            ("joints", "n_joints"),
            ("joint angles", "n_angles"),
            ("bone lengths", "n_bones"),
        )
    },
    "IM-PO-02": {"largest rank": largest_rank},
    "IM-PO-03": {
        "constrained HMC over HMC at equal time": partial(worst_scene, at_equal_time=True),
        "constrained HMC over HMC at the end": partial(worst_scene, at_equal_time=False),
        **{
            f"{name} scene {scene}": partial(error_at_the_end, case=case, scene=scene)
            for scene in _SCENES
            for case, name in _NAMES.items()
        },
    },
    "IM-PO-04": {
        "chains that stop at 2e-4": partial(stop_in_some_scene, case="hmc"),
        **{
            f"chains that stop at {step}{also}": partial(stop_in_some_scene, case=case, step_size=float(step))
            for case, also in (("steps_scenes", ""), ("one_step_scenes", ", one step"))
            for step in ("4e-4", "8e-4")
        },
        "chains that stop": partial(stop_where_most_move, case="steps"),
        "chains that stop, one step": partial(stop_where_most_move, case="one_step_larger"),
    },
    "IM-PO-05": {
        **{
            f"different modes, chains that {which}": partial(different_modes, which=which)
            for which in ("fit", "moved")
        },
        "HMC over constrained HMC": disagree_more_often,
    },
    "IM-PO-06": {
        "by the words": depth_over_front,
        "by sample": lambda tables: mean(tables.values("log_depth_over_front", case="monocular")),
        "spread given one image over two": spread_over_two_images,
        "chains that fit the image": chains_that_fit,
    },
    "IM-PO-07": {"noise / span": noise_over_span},
    "IM-PO-08": {
        "error of one step / many": partial(one_step, cost="time_s", unit="s"),
        "error of one step / many at equal gradients": partial(one_step, cost="n_work", unit="gradients"),
    },
    "IM-ALG-02": {"PO": failed_proposals},
    "IM-ALG-03": {"PO": converged},
    "IM-ALG-06": {"PO": step_ratio, "PO, printed steps": step_ratio},
    "IM-ALG-09": {"PO": smallest_noisy},
    "IM-ALG-13": {"PO": partial(worst_scene, at_equal_time=True)},
}

NUMBERS: dict[str, Measure] = {
    "usable step of HMC over the published one": lambda tables: (
        usable(tables, "steps") / tables.value("step_size_used", case="hmc")
    ),
    **{
        f"error of {name} in the notebook's settings": partial(notebook_error, method=method)
        for method, name in (*_NAMES.items(), ("hierarchical_hmc", "hierarchical HMC"))
    },
}
