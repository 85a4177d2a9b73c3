"""What this study measures for each published claim, read from its two tables."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, measure_settings
from auxmc_pipeline.lookup import MissingData, find, scalar

Measure = Callable[[pd.DataFrame], Measurement]

_NAMES = {"constrained_hmc": "constrained HMC", "hmc": "HMC"}
_NOT_RUN = "not run at this preset"
# Errors fall along the run: shorter chains say how far they have come, not where they end.
_PUBLISHED_DRAWS = {"constrained_hmc": 200, "hmc": 1200}
_ENOUGH_FOR_MODES = {"constrained_hmc": 100, "hmc": 600}
_SCENES = (1, 2, 3)


def _fact(quantity: str, case: str = "constrained_hmc", note: str = "") -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        return Measurement(float(_values(summary, case, quantity)), 0.0, note)

    return measure


def _largest_rank(summary: pd.DataFrame) -> Measurement:
    ranks = _values(summary, "constrained_hmc", "rank", "jacobian")
    note = f"from {ranks.min():.0f} to {ranks.max():.0f} at {ranks.size} draws of the prior"
    return Measurement(float(ranks.max()), 0.0, note)


def _accept_at(step_size: float) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rates = _array(summary, "steps", "acceptance", "step_size", "chain")
        steps = rates["step_size"].values.astype(float)
        place = int(np.argmin(np.abs(steps - step_size)))
        one = rates.isel(step_size=place).values
        note = f"accept rates of the chains on scene 1 {_listed(one)}"
        single = find(summary, "one_step", "acceptance", "chain")
        if single is not None and place == 0:
            note += f"; with trajectories of one step {_listed(single.values)}"
        beyond = rates.isel(step_size=steps > steps[place] * 1.5)
        if beyond.sizes["step_size"]:
            smallest = beyond.min("chain")
            note += "; smallest at larger steps " + ", ".join(
                f"{value:.3g} at {step:g}"
                for step, value in zip(smallest["step_size"].values, smallest.values, strict=True)
            )
        return Measurement(float(one.min()), 0.0, note)

    return measure


def _modes(case: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        _require_length(summary, case, _ENOUGH_FOR_MODES)
        factors = _values(summary, case, "psrf", "scene", "joint", "axis")
        by_scene = factors.max(axis=(1, 2))
        note = f"by scene {_listed(by_scene)}; share of joint coordinates above 1.2: {np.mean(factors > 1.2):.2f}"
        return Measurement(float(by_scene.max()), math.nan, note)

    return measure


def _depth_over_front(summary: pd.DataFrame) -> Measurement:
    depth, front = (_values(summary, "monocular", name, "chain") for name in ("rms_depth", "rms_front"))
    ratios = depth / front
    pooled = float(np.sqrt(np.mean(depth**2) / np.mean(front**2)))
    note = f"all chains pooled; by chain {_listed(ratios)}"
    return Measurement(pooled, _standard_error(ratios), note)


def _noise_over_span(summary: pd.DataFrame) -> Measurement:
    return Measurement(float(_values(summary, "constrained_hmc", "noise_over_span", "scene").max()), 0.0)


def _failed_share(summary: pd.DataFrame) -> Measurement:
    failures = _values(summary, "constrained_hmc", "n_failures", "scene", "chain")
    draws = int(str(scalar(summary, "constrained_hmc", "n_draws")))
    shares = failures / draws
    where = f"in {np.sum(failures > 0)} of {failures.size} chains"
    note = f"{failures.sum():.0f} of {draws * failures.size} proposals, {where}"
    return Measurement(float(shares.mean()), _standard_error(shares.ravel()), note)


def _residual(summary: pd.DataFrame) -> Measurement:
    return Measurement(
        float(_values(summary, "constrained_hmc", "largest_residual", "scene", "chain").max()), 0.0
    )


def _step_ratio(summary: pd.DataFrame) -> Measurement:
    steps = [float(_values(summary, case, "step_size_used")) for case in _NAMES]
    rates = [float(_values(summary, case, "acceptance", "scene", "chain").mean()) for case in _NAMES]
    note = f"accept rates {rates[0]:.3g} and {rates[1]:.3g}; step sizes are settings"
    return Measurement(steps[0] / steps[1], 0.0, note)


def _smallest_noisy(summary: pd.DataFrame) -> Measurement:
    values = _values(summary, "constrained_hmc", "smallest_noisy_singular_value", "jacobian")
    scale = float(_values(summary, "constrained_hmc", "noise_scale_used"))
    return Measurement(float(values.min()) / scale, 0.0, f"at {values.size} draws of the prior")


# --- claims that need the curves -----------------------------------------------------------------------


def _errors_against_time(summary: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Measurement]:
    """Order of the methods at equal time and at the published lengths, and the errors there."""
    del summary
    measures: dict[str, Callable[[], Measurement]] = {
        "scenes won at equal time": lambda: _won_at_equal_time(curves),
        "scenes won at the end": lambda: _won_at_the_end(curves),
        **{
            f"{_NAMES[case]} scene {scene}": partial(_error_at_the_end, curves, case, scene)
            for scene in _SCENES
            for case in _NAMES
        },
    }
    return {setting: _or_missing(measure) for setting, measure in measures.items()}


def _or_missing(measure: Callable[[], Measurement]) -> Measurement:
    try:
        return measure()
    except MissingData as missing:
        return Measurement(math.nan, math.nan, str(missing))


def _error_at_the_end(curves: pd.DataFrame, case: str, scene: int) -> Measurement:
    errors, four = (_published_errors(curves, case, scene, name) for name in ("rmse", "rmse_homogeneous"))
    note = f"scenes differ from the published ones; with four rows as published {four.mean():.3g}"
    return Measurement(float(errors.mean()), _standard_error(errors), note)


def _won_at_the_end(curves: pd.DataFrame) -> Measurement:
    won, notes = 0, []
    for scene in _SCENES:
        ours, theirs = (_published_errors(curves, case, scene, "rmse").mean() for case in _NAMES)
        won += bool(ours < theirs)
        notes.append(f"scene {scene} {ours:.3g} and {theirs:.3g}")
    return Measurement(float(won), 0.0, "constrained HMC and HMC: " + ", ".join(notes))


def _published_errors(curves: pd.DataFrame, case: str, scene: int, quantity: str) -> FloatArray:
    """Error of each chain's mean pose after the published number of iterations [chain]."""
    rows = _rows_of_scene(curves, case, scene)
    errors, counts = find(rows, case, quantity, "chain", "point"), find(curves, case, "n_samples", "point")
    if errors is None or counts is None:
        raise MissingData(_NOT_RUN)
    n_draws = int(counts.values.max()) - 1
    if n_draws < _PUBLISHED_DRAWS[case]:
        raise MissingData(
            f"chains of {n_draws} iterations are too short to tell, needs {_PUBLISHED_DRAWS[case]}"
        )
    return np.array([np.interp(_PUBLISHED_DRAWS[case] + 1, counts.values, one) for one in errors.values])


def _rows_of_scene(curves: pd.DataFrame, case: str, scene: int) -> pd.DataFrame:
    if not {"case", "scene"} <= set(curves):
        return curves.iloc[:0]
    return curves[(curves["case"] == case) & (curves["scene"] == scene)]


def _won_at_equal_time(curves: pd.DataFrame) -> Measurement:
    won, notes = 0, []
    for scene in _SCENES:
        errors, time_s = _at_equal_time(curves, ("constrained_hmc", "hmc"), scene)
        won += errors[0] < errors[1]
        notes.append(f"scene {scene} {errors[0]:.3g} and {errors[1]:.3g} at {time_s:.2g} s")
    return Measurement(float(won), 0.0, "constrained HMC and HMC: " + ", ".join(notes))


def _one_step(summary: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Measurement]:
    del summary

    def measure() -> Measurement:
        errors, time_s = _at_equal_time(curves, ("one_step", "hmc"), 1)
        return Measurement(errors[0] / errors[1], math.nan, f"scene 1, at {time_s:.2g} s")

    return {"error of one step / many": _or_missing(measure)}


def _at_equal_time(
    curves: pd.DataFrame, cases: tuple[str, str], scene: int
) -> tuple[tuple[float, float], float]:
    """Errors of two cases, mean over chains, at the largest time that all their chains reach."""
    found = []
    for case in cases:
        rows = _rows_of_scene(curves, case, scene)
        pair = [find(rows, case, name, "chain", "point") for name in ("time_s", "rmse")]
        if pair[0] is None or pair[1] is None:
            raise MissingData(_NOT_RUN)
        found.append((pair[0].values, pair[1].values))
    time_s = min(float(times.max(axis=1).min()) for times, _ in found)
    first, second = (
        float(np.mean([np.interp(time_s, t, e) for t, e in zip(times, errors, strict=True)]))
        for times, errors in found
    )
    return (first, second), time_s


MEASURE: dict[str, Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]] = {
    "IM-PO-01": measure_settings(
        {
            "inputs": _fact("n_inputs"),
            "observed values": _fact("n_observed"),
            "joints": _fact("n_joints"),
            "joint angles": _fact("n_angles"),
            "bone lengths": _fact("n_bones"),
        }
    ),
    "IM-PO-02": measure_settings({"largest rank": _largest_rank}),
    "IM-PO-03": _errors_against_time,
    "IM-PO-04": measure_settings(
        {f"smallest accept rate at {place}e-4": _accept_at(place * 1e-4) for place in (2, 4, 8)}
    ),
    "IM-PO-05": measure_settings({name: _modes(case) for case, name in _NAMES.items()}),
    "IM-PO-06": measure_settings({"depth / front": _depth_over_front}),
    "IM-PO-07": measure_settings({"noise / span": _noise_over_span}),
    "IM-PO-08": _one_step,
    "IM-ALG-02": measure_settings({"PO": _failed_share}),
    "IM-ALG-03": measure_settings({"PO": _residual}),
    "IM-ALG-06": measure_settings({"PO": _step_ratio}),
    "IM-ALG-09": measure_settings({"PO": _smallest_noisy}),
}


# --- from the tables -----------------------------------------------------------------------------------


def _array(summary: pd.DataFrame, case: str, quantity: str, *dims: str) -> xr.DataArray:
    found = find(summary, case, quantity, *dims)
    if found is None:
        raise MissingData(_NOT_RUN)
    return found


def _values(summary: pd.DataFrame, case: str, quantity: str, *dims: str) -> FloatArray:
    values: FloatArray = _array(summary, case, quantity, *dims).values
    return values


def _require_length(summary: pd.DataFrame, case: str, enough: dict[str, int]) -> None:
    draws = scalar(summary, case, "n_draws")
    if draws is None:
        raise MissingData(_NOT_RUN)
    if int(str(draws)) < enough[case]:
        raise MissingData(f"chains of {draws} iterations are too short to tell, needs {enough[case]}")


def _standard_error(values: FloatArray) -> float:
    return float(np.std(values, ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{value:.3g}" for value in np.ravel(values))
