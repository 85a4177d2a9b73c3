"""Measures the published claims CT-C01 to CT-C18 from the study's tables."""

import math
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from auxmc.data.autoencoder_weights import MODELS
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData, rows_of
from experiments.image_models.lookup import Reference, reference, running_estimate, value_of

Tables = tuple[pd.DataFrame, pd.DataFrame]
Measure = Callable[[Tables, str], Measurement]

_PUBLISHED = ("mnist", "omniglot")
_PUBLISHED_IMAGES = 1000
_PUBLISHED_LENGTHS = {"st": 3000, "gibbs_ct": 10_000, "ct_hmc": 7500}
_PUBLISHED_LADDERS = (50, 100, 200, 500, 1000, 2000)
_NEAR_PER_IMAGE = {"mnist": 0.020, "own_digits": 0.020, "omniglot": 0.015, "own_glyphs": 0.015}
"""Distances from the lower bound at which an estimate counts as converged: 20 and 15 nats for 1000 images."""


def layers(tables: Tables, model: str) -> Measurement:
    """CT-C01."""
    return _fact(tables, model, "n_layers_differ")


def images(tables: Tables, model: str) -> Measurement:
    """CT-C02."""
    return _fact(tables, model, "n_images_differ")


def bound(name: str) -> Measure:
    """CT-C03 to CT-C05: a joint bound."""

    def measure(tables: Tables, model: str) -> Measurement:
        _require_published_size(tables, model)
        return _with_error(tables, model, f"joint_{name}")

    return measure


def gap(low: str, high: str) -> Measure:
    """CT-C05: a bound minus another one."""

    def measure(tables: Tables, model: str) -> Measurement:
        first, second = (_with_error(tables, model, f"joint_{name}") for name in (low, high))
        # The two upper forms come from the same weights, so that their order is exact.
        error = 0.0 if low == "upper" else math.hypot(first.error, second.error)
        n_images = value_of(tables[0], model, "n_images_used")
        return Measurement(second.value - first.value, error, f"nats, {n_images:.0f} images together")

    return measure


def annealed(n_temperatures: int) -> Measure:
    """CT-C06."""

    def measure(tables: Tables, model: str) -> Measurement:
        _require_published_size(tables, model)
        return _annealed(tables, model, n_temperatures)

    return measure


def rise(tables: Tables, model: str) -> Measurement:
    """CT-C07: what a longer ladder adds."""
    counts = _ladders(tables, model)
    first, last = (_annealed(tables, model, counts[i]) for i in (0, -1))
    note = f"K = {counts[-1]} minus K = {counts[0]}, in nats"
    return Measurement(last.value - first.value, math.hypot(first.error, last.error), note)


def remaining(tables: Tables, model: str) -> Measurement:
    """CT-C07: what is missing at K = 2000, for 1000 images."""
    lower = _with_error(tables, model, "joint_lower")
    last = _annealed(tables, model, _PUBLISHED_LADDERS[-1])
    scale = _PUBLISHED_IMAGES / value_of(tables[0], model, "n_images_used")
    return Measurement(scale * (lower.value - last.value), scale * math.hypot(lower.error, last.error))


def final(method: str) -> Measure:
    """CT-C08 to CT-C10: joint estimate at the end of the published chains."""

    def measure(tables: Tables, model: str) -> Measurement:
        _require_published_size(tables, model)
        if value_of(tables[0], model, "n_chain_draws", method=method) != _PUBLISHED_LENGTHS[method]:
            raise MissingData(f"{_PUBLISHED_LENGTHS[method]} iterations of {method}: not run at this preset")
        return _with_error(tables, model, "joint_mean", "joint_error", method=method)

    return measure


def below(tables: Tables, model: str) -> Measurement:
    """CT-C10: Gibbs continuous tempering minus simulated tempering."""
    first, second = (
        _with_error(tables, model, "joint_mean", "joint_error", method=m) for m in ("st", "gibbs_ct")
    )
    return Measurement(
        second.value - first.value, math.hypot(first.error, second.error), "nats, final estimates"
    )


def annealed_time(tables: Tables, model: str) -> Measurement:
    """CT-C11: time of annealing over that of Gibbs continuous tempering, to come near the lower bound."""
    level = _level(tables, model)
    for count in _ladders(tables, model):
        if _annealed(tables, model, count).value >= level:
            seconds = value_of(tables[0], model, "ais_seconds", n_temperatures=count)
            chain, reached = _first_near(tables, model, "gibbs_ct", "seconds", level)
            note = f"K = {count} is the first that comes near" + _unless(reached, "Gibbs CT")
            return Measurement(seconds / chain, math.nan, note)
    raise MissingData(f"no ladder of model {model} came near the lower bound")


def slower(along: str) -> Measure:
    """CT-C12: seconds or gradients of CT-HMC over those of Gibbs continuous tempering, to come near the lower bound."""

    def measure(tables: Tables, model: str) -> Measurement:
        level = _level(tables, model)
        gibbs, gibbs_reached = _first_near(tables, model, "gibbs_ct", along, level)
        joint, joint_reached = _first_near(tables, model, "ct_hmc", along, level)
        if not gibbs_reached:
            raise MissingData(f"Gibbs CT of model {model} did not come near the lower bound")
        return Measurement(joint / gibbs, math.nan, _unless(joint_reached, "CT-HMC").removeprefix("; "))

    return measure


def index_share(tables: Tables, model: str) -> Measurement:
    """CT-C13: part of the time of simulated tempering that Gibbs continuous tempering does not need."""
    ratio = time_ratio("seconds_per_iteration", "st")(tables, model)
    return Measurement(1.0 - 1.0 / ratio.value, math.nan, "both make the same moves between temperatures")


def time_ratio(quantity: str, method: str) -> Measure:
    """CT-C13 and CT-C14: a cost of a method over that of Gibbs continuous tempering."""

    def measure(tables: Tables, model: str) -> Measurement:
        cost, unit = (value_of(tables[0], model, quantity, method=m) for m in (method, "gibbs_ct"))
        return Measurement(cost / unit, math.nan, f"Gibbs CT needs {unit:.3g} s")

    return measure


def sharing(which: int) -> Measure:
    """CT-C15: error of the length of one chain shared by several, over that of the one chain (Gibbs CT)."""

    def measure(tables: Tables, model: str) -> Measurement:
        counts = _counts(tables, model, "layout_mean", "n_sharing", method="gibbs_ct")
        if len(counts) <= 1:
            raise MissingData(f"several short chains of model {model}: not run at this preset")
        count = counts[which]
        one, several = (
            _root_mean_square(tables, model, "layout", n_sharing=n, method="gibbs_ct") for n in (1, count)
        )
        return _quotient(several, one, f"{count} chains of 1/{count} of the length")

    return measure


def parallel(tables: Tables, model: str) -> Measurement:
    """CT-C16: gain of annealing from pooling runs over the gain of Gibbs continuous tempering from pooling chains."""
    last = float(_ladders(tables, model)[-1])
    counts = [
        count
        for count in _counts(tables, model, "pooled_mean", "n_parallel", method="gibbs_ct")
        if count in _counts(tables, model, "ais_pooled_mean", "n_parallel", n_temperatures=last)
    ]
    if len(counts) <= 1:
        raise MissingData(f"pooled chains of model {model}: not run at this preset")
    n = counts[-1]

    def gain(prefix: str, **where: str | float) -> Measurement:
        single, pooled = (
            _root_mean_square(tables, model, prefix, n_parallel=count, **where) for count in (1, n)
        )
        return _quotient(single, pooled, "")

    found = _quotient(gain("ais_pooled", n_temperatures=last), gain("pooled", method="gibbs_ct"), "")
    return found._replace(note=f"root mean square errors of 1 over those of {n} pooled, K = {last:.0f}")


def ordered(low: str, high: str) -> Measure:
    """CT-C17: joint values per image, the second minus the first."""

    def measure(tables: Tables, model: str) -> Measurement:
        n_images = value_of(tables[0], model, "n_images_used")
        first = Measurement(value_of(tables[0], model, low), 0.0)
        if high == "ais":
            second = _annealed(tables, model, _ladders(tables, model)[-1])
        else:
            second = Measurement(value_of(tables[0], model, high), 0.0)
        return Measurement((second.value - first.value) / n_images, second.error / n_images, "nats per image")

    return measure


def efficiency(method: str) -> Measure:
    """CT-C18: error of simulated tempering over that of a method at the same number of gradients."""

    def measure(tables: Tables, model: str) -> Measurement:
        about = reference(tables[0], model)
        n_repetitions = float(rows_of(tables[0], "joint_mean", model=model)["n_repetitions"].iloc[0])
        n_images = value_of(tables[0], model, "n_images_used")
        tempering = running_estimate(tables[1], model, "st")
        other = running_estimate(tables[1], model, method)
        budget = min(tempering.gradients[-1], other.gradients[-1])
        found = []
        for running in (tempering, other):
            at = int(np.searchsorted(running.gradients, budget * (1.0 + 1e-9), side="right")) - 1
            sd = float(running.error[at]) * math.sqrt(n_repetitions)
            degrees = n_images * (n_repetitions - 1)
            found.append(_error_size(float(running.mean[at]), sd, float(running.error[at]), degrees, about))
        return _quotient(found[0], found[1], f"root mean square errors after {budget:.3g} gradients")

    return measure


def _for_models(
    measures: Mapping[str, Measure], models: tuple[str, ...] = MODELS
) -> Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]:
    """One function for `judge`: settings are `model: name of the measure`."""

    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Measurement]:
        found = {}
        for model in models:
            for name, function in measures.items():
                try:
                    found[f"{model}: {name}"] = function((summary, curves), model)
                except MissingData as missing:
                    found[f"{model}: {name}"] = Measurement(math.nan, math.nan, str(missing))
        return found

    return measure


MEASURE: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Mapping[str, Measurement]]] = {
    "CT-C01": _for_models({"layers that differ": layers}, _PUBLISHED),
    "CT-C02": _for_models({"images that differ": images}, _PUBLISHED),
    "CT-C03": _for_models({"lower": bound("lower"), "upper": bound("upper_arithmetic")}, ("mnist",)),
    "CT-C04": _for_models({"lower": bound("lower"), "upper": bound("upper_arithmetic")}, ("omniglot",)),
    "CT-C05": lambda summary, curves: (
        _for_models({"upper": bound("upper")}, _PUBLISHED)(summary, curves)
        | _for_models(
            {
                "upper - lower": gap("lower", "upper"),
                "published form - upper": gap("upper", "upper_arithmetic"),
            }
        )(summary, curves)
    ),
    "CT-C06": _for_models({f"K = {count}": annealed(count) for count in _PUBLISHED_LADDERS}, _PUBLISHED),
    "CT-C07": _for_models({"rise": rise, "left at K = 2000": remaining}),
    "CT-C08": _for_models({"final": final("gibbs_ct")}, _PUBLISHED),
    "CT-C09": _for_models({"final": final("ct_hmc")}, _PUBLISHED),
    "CT-C10": lambda summary, curves: (
        _for_models({"final": final("st")}, _PUBLISHED)(summary, curves)
        | _for_models({"Gibbs CT - ST": below})(summary, curves)
    ),
    "CT-C11": _for_models({"time": annealed_time}),
    "CT-C12": _for_models({"time": slower("seconds"), "gradients": slower("gradients")}),
    "CT-C13": _for_models(
        {
            "share of the index": index_share,
            "ST over Gibbs CT": time_ratio("seconds_per_iteration", "st"),
            "CT-HMC over Gibbs CT": time_ratio("seconds_per_iteration", "ct_hmc"),
        }
    ),
    "CT-C14": _for_models({"time of a gradient": time_ratio("seconds_per_gradient", "ct_hmc")}),
    "CT-C15": _for_models({"2 chains": sharing(1), "most chains": sharing(-1)}),
    "CT-C16": _for_models({"gain": parallel}),
    "CT-C17": _for_models(
        {
            "log zeta - single bound": ordered("joint_single_bound", "joint_log_zeta"),
            "AIS - log zeta": ordered("joint_log_zeta", "ais"),
        }
    ),
    "CT-C18": _for_models({"Gibbs CT": efficiency("gibbs_ct"), "CT-HMC": efficiency("ct_hmc")}),
}


def _fact(tables: Tables, model: str, quantity: str) -> Measurement:
    try:
        count = float(rows_of(tables[0], quantity, published_model=model)["value"].iloc[0])
    except MissingData:
        note = "cannot be compared: set AUXMC_DATA_DIR to the folder that holds the author's weights, or run model="
        return Measurement(math.nan, math.nan, note + model)
    return Measurement(count, 0.0)


def _require_published_size(tables: Tables, model: str) -> None:
    if value_of(tables[0], model, "n_images_used") != _PUBLISHED_IMAGES:
        raise MissingData(f"{_PUBLISHED_IMAGES} images of model {model}: not run at this preset")


def _with_error(
    tables: Tables, model: str, quantity: str, error: str = "", **where: str | float
) -> Measurement:
    value = value_of(tables[0], model, quantity, **where)
    return Measurement(value, value_of(tables[0], model, error or f"{quantity}_error", **where))


def _annealed(tables: Tables, model: str, n_temperatures: int) -> Measurement:
    return _with_error(
        tables, model, "ais_joint_mean", "ais_joint_error", n_temperatures=float(n_temperatures)
    )


def _ladders(tables: Tables, model: str) -> list[int]:
    return _counts(tables, model, "ais_joint_mean", "n_temperatures")


def _counts(tables: Tables, model: str, quantity: str, dim: str, **where: str | float) -> list[int]:
    rows = rows_of(tables[0], quantity, model=model, **where).dropna(subset="value")
    return sorted({int(value) for value in rows[dim]})


def _level(tables: Tables, model: str) -> float:
    n_images = value_of(tables[0], model, "n_images_used")
    return value_of(tables[0], model, "joint_lower") - n_images * _NEAR_PER_IMAGE[model]


def _first_near(tables: Tables, model: str, method: str, along: str, level: float) -> tuple[float, bool]:
    """Seconds or gradients after which an estimate stays above a level, or all of them, and whether it does."""
    running = running_estimate(tables[1], model, method)
    costs = getattr(running, along)
    low = np.flatnonzero(running.mean < level)
    first = 0 if not low.size else low[-1] + 1
    return (float(costs[-1]), False) if first >= len(costs) else (float(costs[first]), True)


def _unless(reached: bool, name: str) -> str:
    return "" if reached else f"; {name} did not come near within its run: the ratio is a bound"


def _root_mean_square(tables: Tables, model: str, prefix: str, **where: str | float) -> Measurement:
    mean, sd, error = (
        value_of(tables[0], model, f"{prefix}_{name}", **where) for name in ("mean", "sd", "error")
    )
    n_groups = (sd / error) ** 2 if error > 0.0 else math.inf
    degrees = value_of(tables[0], model, "n_images_used") * (n_groups - 1.0)
    return _error_size(mean, sd, error, degrees, reference(tables[0], model))


def _error_size(mean: float, sd: float, error: float, degrees: float, about: Reference) -> Measurement:
    """Root mean square error of an estimate about the reference, with its own error."""
    bias = mean - about.value
    size = math.hypot(bias, sd)
    parts = (bias * math.hypot(error, about.error), sd * sd / math.sqrt(2.0 * degrees))
    return Measurement(size, math.hypot(*parts) / size)


def _quotient(top: Measurement, bottom: Measurement, note: str) -> Measurement:
    ratio = top.value / bottom.value
    return Measurement(ratio, ratio * math.hypot(top.error / top.value, bottom.error / bottom.value), note)
