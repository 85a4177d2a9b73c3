"""What this study measures for each published claim, read from its two tables."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.tables import MissingData, Tables

_NAMES = {"constrained_hmc": "constrained HMC", "hmc": "HMC"}
# Errors fall along the run: shorter chains say how far they have come, not where they end.
_PUBLISHED_DRAWS = {"constrained_hmc": 200, "hmc": 1200}
_ENOUGH_FOR_MODES = {"constrained_hmc": 100, "hmc": 600}
_SCENES = (1, 2, 3)


def _fact(quantity: str, tables: Tables) -> Measurement:
    return Measurement(tables.summary.value(quantity, case="constrained_hmc"), 0.0)


def _largest(quantity: str, dims: Sequence[str], tables: Tables) -> Measurement:
    values = tables.summary.array(quantity, *dims, case="constrained_hmc")
    return Measurement(float(values.max()), 0.0)


def _largest_rank(tables: Tables) -> Measurement:
    ranks = tables.summary.array("rank", "jacobian", case="constrained_hmc").values
    note = f"from {ranks.min():.0f} to {ranks.max():.0f} at {ranks.size} draws of the prior"
    return Measurement(float(ranks.max()), 0.0, note)


def _accept_at(step_size: float, tables: Tables) -> Measurement:
    rates = tables.summary.array("acceptance", "step_size", "chain", case="steps")
    steps = rates["step_size"].values.astype(float)
    place = int(np.argmin(np.abs(steps - step_size)))
    one = rates[place].values
    note = f"accept rates of the chains on scene 1 {_listed(one)}"
    if place == 0 and tables.summary.holds("acceptance", case="one_step"):
        single = tables.summary.array("acceptance", "chain", case="one_step").values
        note += f"; with trajectories of one step {_listed(single)}"
    beyond = rates[steps > steps[place] * 1.5].min("chain")
    if beyond.size:
        listed = ", ".join(f"{float(rate):.3g} at {float(rate['step_size']):g}" for rate in beyond)
        note += f"; smallest at larger steps {listed}"
    return Measurement(float(one.min()), 0.0, note)


def _modes(case: str, tables: Tables) -> Measurement:
    _require(tables.summary.setting("n_draws", case=case), _ENOUGH_FOR_MODES[case])
    factors = tables.summary.array("psrf", "scene", "joint", "axis", case=case).values
    by_scene = factors.max(axis=(1, 2))
    note = f"by scene {_listed(by_scene)}; share of joint coordinates above 1.2: {np.mean(factors > 1.2):.2f}"
    return Measurement(float(by_scene.max()), math.nan, note)


def _depth_over_front(tables: Tables) -> Measurement:
    depth, front = (
        tables.summary.array(name, "chain", case="monocular").values for name in ("rms_depth", "rms_front")
    )
    ratios = depth / front
    pooled = float(np.sqrt(np.mean(depth**2) / np.mean(front**2)))
    return Measurement(pooled, _standard_error(ratios), f"all chains pooled; by chain {_listed(ratios)}")


def _failed_share(tables: Tables) -> Measurement:
    failures = tables.summary.array("n_failures", "scene", "chain", case="constrained_hmc").values
    draws = tables.summary.setting("n_draws", case="constrained_hmc")
    where = f"in {np.sum(failures > 0)} of {failures.size} chains"
    note = f"{failures.sum():.0f} of {draws * failures.size} proposals, {where}"
    shares = failures / draws
    return Measurement(float(shares.mean()), _standard_error(shares), note)


def _step_ratio(tables: Tables) -> Measurement:
    ours, theirs = (tables.summary.value("step_size_used", case=case) for case in _NAMES)
    rates = [tables.summary.array("acceptance", "scene", "chain", case=case).values.mean() for case in _NAMES]
    note = f"accept rates {rates[0]:.3g} and {rates[1]:.3g}; step sizes are settings"
    return Measurement(ours / theirs, 0.0, note)


def _smallest_noisy(tables: Tables) -> Measurement:
    values = tables.summary.array("smallest_noisy_singular_value", "jacobian", case="constrained_hmc")
    scale = tables.summary.value("noise_scale_used", case="constrained_hmc")
    return Measurement(float(values.min()) / scale, 0.0, f"at {values.size} draws of the prior")


# --- claims that need the curves -----------------------------------------------------------------------


def _error_at_the_end(case: str, scene: int, tables: Tables) -> Measurement:
    errors, four = (_published_errors(case, scene, name, tables) for name in ("rmse", "rmse_homogeneous"))
    note = f"scenes differ from the published ones; with four rows as published {four.mean():.3g}"
    return Measurement(float(errors.mean()), _standard_error(errors), note)


def _won_at_the_end(tables: Tables) -> Measurement:
    errors = [
        [float(_published_errors(case, scene, "rmse", tables).mean()) for case in _NAMES] for scene in _SCENES
    ]
    return _scenes_won(errors, [""] * len(_SCENES))


def _published_errors(case: str, scene: int, quantity: str, tables: Tables) -> FloatArray:
    """Error of each chain's mean pose after the published number of iterations [chain]."""
    errors = tables.curves.array(quantity, "chain", "point", case=case, scene=scene).values
    counts = tables.curves.array("n_samples", "point", case=case).values
    _require(int(counts.max()) - 1, _PUBLISHED_DRAWS[case])
    return np.array([np.interp(_PUBLISHED_DRAWS[case] + 1, counts, one) for one in errors])


def _won_at_equal_time(tables: Tables) -> Measurement:
    found = [_at_equal_time(("constrained_hmc", "hmc"), scene, tables) for scene in _SCENES]
    return _scenes_won([errors for errors, _ in found], [f" at {time_s:.2g} s" for _, time_s in found])


def _scenes_won(errors: Sequence[Sequence[float]], when: Sequence[str]) -> Measurement:
    """Scenes in which constrained HMC has the smaller error of a pair."""
    notes = [
        f"scene {scene} {ours:.3g} and {theirs:.3g}{at}"
        for scene, (ours, theirs), at in zip(_SCENES, errors, when, strict=True)
    ]
    won = sum(ours < theirs for ours, theirs in errors)
    return Measurement(float(won), 0.0, "constrained HMC and HMC: " + ", ".join(notes))


def _one_step(tables: Tables) -> Measurement:
    errors, time_s = _at_equal_time(("one_step", "hmc"), 1, tables)
    return Measurement(errors[0] / errors[1], math.nan, f"scene 1, at {time_s:.2g} s")


def _at_equal_time(cases: tuple[str, str], scene: int, tables: Tables) -> tuple[list[float], float]:
    """Errors of two cases, mean over chains, at the largest time that all their chains reach."""
    times, errors = (
        [tables.curves.array(name, "chain", "point", case=case, scene=scene).values for case in cases]
        for name in ("time_s", "rmse")
    )
    time_s = min(float(ends.max(axis=1).min()) for ends in times)
    return [
        float(np.mean([np.interp(time_s, t, e) for t, e in zip(*both, strict=True)]))
        for both in zip(times, errors, strict=True)
    ], time_s


# --- shared --------------------------------------------------------------------------------------------


def _require(n_draws: int, enough: int) -> None:
    if n_draws < enough:
        raise MissingData(f"chains of {n_draws} iterations are too short to tell, needs {enough}")


def _standard_error(values: FloatArray) -> float:
    """Of a mean, not widened for few values."""
    return float(np.std(values, ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan


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
        "scenes won at equal time": _won_at_equal_time,
        "scenes won at the end": _won_at_the_end,
        **{
            f"{name} scene {scene}": partial(_error_at_the_end, case, scene)
            for scene in _SCENES
            for case, name in _NAMES.items()
        },
    },
    "IM-PO-04": {
        f"smallest accept rate at {place}e-4": partial(_accept_at, place * 1e-4) for place in (2, 4, 8)
    },
    "IM-PO-05": {name: partial(_modes, case) for case, name in _NAMES.items()},
    "IM-PO-06": {"depth / front": _depth_over_front},
    "IM-PO-07": {"noise / span": partial(_largest, "noise_over_span", ("scene",))},
    "IM-PO-08": {"error of one step / many": _one_step},
    "IM-ALG-02": {"PO": _failed_share},
    "IM-ALG-03": {"PO": partial(_largest, "largest_residual", ("scene", "chain"))},
    "IM-ALG-06": {"PO": _step_ratio},
    "IM-ALG-09": {"PO": _smallest_noisy},
}
