"""Measures the published claims CT-C01 to CT-C18 from the study's tables."""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from auxmc.data.autoencoder_weights import MODELS
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import difference, ratio
from auxmc_pipeline.tables import MissingData, Tables, Wanted
from experiments.image_models.joint_estimates import Reference, reference, running_estimate, value_of

_PUBLISHED = ("mnist", "omniglot")
_PUBLISHED_IMAGES = 1000
_PUBLISHED_LENGTHS = {"st": 3000, "gibbs_ct": 10_000, "ct_hmc": 7500}
_PUBLISHED_LADDERS = (50, 100, 200, 500, 1000, 2000)
_NEAR_PER_IMAGE = {"mnist": 0.020, "own_digits": 0.020, "omniglot": 0.015, "own_glyphs": 0.015}
"""Distances from the lower bound at which an estimate counts as converged: 20 and 15 nats for 1000 images."""

# A joint bound and its error.
_BOUNDS = {
    "lower": ("joint_lower", "joint_lower_error"),
    "upper": ("joint_upper", "joint_upper_error"),
    "published form": ("joint_upper_arithmetic", "joint_upper_arithmetic_error"),
}
# Quantities of groups of pooled estimates: mean over groups, their standard deviation, error of the mean.
_LAYOUT = ("layout_mean", "layout_sd", "layout_error")
_POOLED = ("pooled_mean", "pooled_sd", "pooled_error")
_AIS_POOLED = ("ais_pooled_mean", "ais_pooled_sd", "ais_pooled_error")


def differing(tables: Tables, model: str, quantity: str) -> Measurement:
    """CT-C01 and CT-C02: parts of a published model that differ from the author's."""
    try:
        rows = tables.summary.rows(quantity, published_model=model)
    except MissingData:
        advice = "set AUXMC_DATA_DIR to the folder that holds the author's weights, or run model="
        raise MissingData(f"cannot be compared: {advice}{model}") from None
    return Measurement(float(rows["value"].iloc[0]), 0.0)


def bound(tables: Tables, model: str, which: str) -> Measurement:
    """CT-C03 to CT-C05: a joint bound."""
    _require_published_size(tables, model)
    return _with_error(tables, model, *_BOUNDS[which])


def gap(tables: Tables, model: str, high: str, low: str) -> Measurement:
    """CT-C05: a bound minus another one."""
    above, below = (_with_error(tables, model, *_BOUNDS[which]) for which in (high, low))
    n_images = value_of(tables, model, "n_images_used")
    found = difference(above, below, f"nats, {n_images:.0f} images together")
    # The two upper forms come from the same weights, so that their order is exact.
    return found._replace(error=0.0) if low == "upper" else found


def annealed(tables: Tables, model: str, n_temperatures: int) -> Measurement:
    """CT-C06."""
    _require_published_size(tables, model)
    return _annealed(tables, model, n_temperatures)


def rise(tables: Tables, model: str) -> Measurement:
    """CT-C07: what a longer ladder adds."""
    counts = _ladders(tables, model)
    first, last = (_annealed(tables, model, counts[i]) for i in (0, -1))
    return difference(last, first, f"K = {counts[-1]} minus K = {counts[0]}, in nats")


def remaining(tables: Tables, model: str) -> Measurement:
    """CT-C07: what is missing at K = 2000, for 1000 images."""
    found = difference(
        _with_error(tables, model, *_BOUNDS["lower"]), _annealed(tables, model, _PUBLISHED_LADDERS[-1])
    )
    scale = _PUBLISHED_IMAGES / value_of(tables, model, "n_images_used")
    return Measurement(scale * found.value, scale * found.error)


def final(tables: Tables, model: str, method: str) -> Measurement:
    """CT-C08 to CT-C10: joint estimate at the end of the published chains."""
    _require_published_size(tables, model)
    if value_of(tables, model, "n_chain_draws", method=method) != _PUBLISHED_LENGTHS[method]:
        raise MissingData(f"{_PUBLISHED_LENGTHS[method]} iterations of {method}: not run at this preset")
    return _at_the_end(tables, model, method)


def below(tables: Tables, model: str) -> Measurement:
    """CT-C10: Gibbs continuous tempering minus simulated tempering."""
    tempering, gibbs = (_at_the_end(tables, model, method) for method in ("st", "gibbs_ct"))
    return difference(gibbs, tempering, "nats, final estimates")


def annealed_time(tables: Tables, model: str) -> Measurement:
    """CT-C11: time of annealing over that of Gibbs continuous tempering, to come near the lower bound."""
    level = _level(tables, model)
    for count in _ladders(tables, model):
        if _annealed(tables, model, count).value >= level:
            seconds = value_of(tables, model, "ais_seconds", n_temperatures=count)
            chain, reached = _first_near(tables, model, "gibbs_ct", "seconds", level)
            note = f"K = {count} is the first that comes near" + _unless(reached, "Gibbs CT")
            return Measurement(seconds / chain, math.nan, note)
    raise MissingData(f"no ladder of model {model} came near the lower bound")


def slower(tables: Tables, model: str, along: str) -> Measurement:
    """CT-C12: seconds or gradients of CT-HMC over those of Gibbs continuous tempering, to come near the lower bound."""
    level = _level(tables, model)
    gibbs, gibbs_reached = _first_near(tables, model, "gibbs_ct", along, level)
    joint, joint_reached = _first_near(tables, model, "ct_hmc", along, level)
    if not gibbs_reached:
        raise MissingData(f"Gibbs CT of model {model} did not come near the lower bound")
    return Measurement(joint / gibbs, math.nan, _unless(joint_reached, "CT-HMC").removeprefix("; "))


def index_share(tables: Tables, model: str) -> Measurement:
    """CT-C13: part of the time of simulated tempering that Gibbs continuous tempering does not need."""
    found = time_ratio(tables, model, "seconds_per_iteration", "st")
    return Measurement(1.0 - 1.0 / found.value, math.nan, "both make the same moves between temperatures")


def time_ratio(tables: Tables, model: str, quantity: str, method: str) -> Measurement:
    """CT-C13 and CT-C14: a cost of a method over that of Gibbs continuous tempering."""
    cost, unit = (value_of(tables, model, quantity, method=name) for name in (method, "gibbs_ct"))
    return Measurement(cost / unit, math.nan, f"Gibbs CT needs {unit:.3g} s")


def sharing(tables: Tables, model: str, which: int) -> Measurement:
    """CT-C15: error of the length of one chain shared by several, over that of the one chain (Gibbs CT)."""
    counts = _counts(tables, model, "layout_mean", "n_sharing", method="gibbs_ct")
    if len(counts) <= 1:
        raise MissingData(f"several short chains of model {model}: not run at this preset")
    count = counts[which]
    one, several = (_error_size(tables, model, _LAYOUT, n_sharing=n, method="gibbs_ct") for n in (1, count))
    return ratio(several, one, f"{count} chains of 1/{count} of the length")


def parallel(tables: Tables, model: str) -> Measurement:
    """CT-C16: gain of annealing from pooling runs over the gain of Gibbs continuous tempering from pooling chains."""
    last = float(_ladders(tables, model)[-1])
    chains = _counts(tables, model, "pooled_mean", "n_parallel", method="gibbs_ct")
    runs = _counts(tables, model, "ais_pooled_mean", "n_parallel", n_temperatures=last)
    counts = [count for count in chains if count in runs]
    if len(counts) <= 1:
        raise MissingData(f"pooled chains of model {model}: not run at this preset")
    n = counts[-1]

    def gain(quantities: tuple[str, str, str], **wanted: Wanted) -> Measurement:
        single, pooled = (
            _error_size(tables, model, quantities, n_parallel=count, **wanted) for count in (1, n)
        )
        return ratio(single, pooled)

    note = f"root mean square errors of 1 over those of {n} pooled, K = {last:.0f}"
    return ratio(gain(_AIS_POOLED, n_temperatures=last), gain(_POOLED, method="gibbs_ct"), note)


def zeta_minus_single_bound(tables: Tables, model: str) -> Measurement:
    """CT-C17."""
    single, zeta = (
        Measurement(value_of(tables, model, quantity), 0.0)
        for quantity in ("joint_single_bound", "joint_log_zeta")
    )
    return _per_image(tables, model, difference(zeta, single))


def annealed_minus_zeta(tables: Tables, model: str) -> Measurement:
    """CT-C17, with the longest ladder."""
    zeta = Measurement(value_of(tables, model, "joint_log_zeta"), 0.0)
    last = _annealed(tables, model, _ladders(tables, model)[-1])
    return _per_image(tables, model, difference(last, zeta))


def efficiency(tables: Tables, model: str, method: str) -> Measurement:
    """CT-C18: error of simulated tempering over that of a method at the same number of gradients."""
    about = reference(tables, model)
    n_repetitions = float(tables.summary.rows("joint_mean", model=model)["n_repetitions"].iloc[0])
    degrees = value_of(tables, model, "n_images_used") * (n_repetitions - 1)
    estimates = [running_estimate(tables, model, name) for name in ("st", method)]
    budget = min(running.gradients[-1] for running in estimates)
    sizes = []
    for running in estimates:
        at = int(np.searchsorted(running.gradients, budget * (1.0 + 1e-9), side="right")) - 1
        mean, error = float(running.mean[at]), float(running.error[at])
        sizes.append(_root_mean_square(mean, error * math.sqrt(n_repetitions), error, degrees, about))
    return ratio(sizes[0], sizes[1], f"root mean square errors after {budget:.3g} gradients")


def _require_published_size(tables: Tables, model: str) -> None:
    if value_of(tables, model, "n_images_used") != _PUBLISHED_IMAGES:
        raise MissingData(f"{_PUBLISHED_IMAGES} images of model {model}: not run at this preset")


def _with_error(tables: Tables, model: str, quantity: str, error: str, **wanted: Wanted) -> Measurement:
    found, its_error = (value_of(tables, model, name, **wanted) for name in (quantity, error))
    return Measurement(found, its_error)


def _at_the_end(tables: Tables, model: str, method: str) -> Measurement:
    return _with_error(tables, model, "joint_mean", "joint_error", method=method)


def _annealed(tables: Tables, model: str, n_temperatures: float) -> Measurement:
    return _with_error(tables, model, "ais_joint_mean", "ais_joint_error", n_temperatures=n_temperatures)


def _per_image(tables: Tables, model: str, joint: Measurement) -> Measurement:
    n_images = value_of(tables, model, "n_images_used")
    return Measurement(joint.value / n_images, joint.error / n_images, "nats per image")


def _ladders(tables: Tables, model: str) -> list[int]:
    return _counts(tables, model, "ais_joint_mean", "n_temperatures")


def _counts(tables: Tables, model: str, quantity: str, dim: str, **wanted: Wanted) -> list[int]:
    rows = tables.summary.rows(quantity, model=model, **wanted).dropna(subset="value")
    return sorted({int(value) for value in rows[dim]})


def _level(tables: Tables, model: str) -> float:
    n_images = value_of(tables, model, "n_images_used")
    return value_of(tables, model, "joint_lower") - n_images * _NEAR_PER_IMAGE[model]


def _first_near(tables: Tables, model: str, method: str, along: str, level: float) -> tuple[float, bool]:
    """Seconds or gradients after which an estimate stays above a level, or all of them, and whether it does."""
    running = running_estimate(tables, model, method)
    costs = getattr(running, along)
    low = np.flatnonzero(running.mean < level)
    first = 0 if not low.size else low[-1] + 1
    return (float(costs[-1]), False) if first >= len(costs) else (float(costs[first]), True)


def _unless(reached: bool, name: str) -> str:
    return "" if reached else f"; {name} did not come near within its run: the ratio is a bound"


def _error_size(
    tables: Tables, model: str, quantities: tuple[str, str, str], **wanted: Wanted
) -> Measurement:
    """Root mean square error of groups of pooled estimates."""
    mean, sd, error = (value_of(tables, model, quantity, **wanted) for quantity in quantities)
    n_groups = (sd / error) ** 2 if error > 0.0 else math.inf
    degrees = value_of(tables, model, "n_images_used") * (n_groups - 1.0)
    return _root_mean_square(mean, sd, error, degrees, reference(tables, model))


def _root_mean_square(mean: float, sd: float, error: float, degrees: float, about: Reference) -> Measurement:
    """Root mean square error of an estimate about the reference, with its own error."""
    bias = mean - about.value
    size = math.hypot(bias, sd)
    parts = (bias * math.hypot(error, about.error), sd * sd / math.sqrt(2.0 * degrees))
    return Measurement(size, math.hypot(*parts) / size)


def _by_model(
    measures: Mapping[str, Callable[..., Measurement]], models: tuple[str, ...] = MODELS
) -> dict[str, Callable[[Tables], Measurement]]:
    """Settings are `model: name of the measure`."""
    return {
        f"{model}: {name}": partial(measure, model=model)
        for model in models
        for name, measure in measures.items()
    }


_SANDWICH = {"lower": partial(bound, which="lower"), "upper": partial(bound, which="published form")}

MEASURE: Measures = {
    "CT-C01": _by_model({"layers that differ": partial(differing, quantity="n_layers_differ")}, _PUBLISHED),
    "CT-C02": _by_model({"images that differ": partial(differing, quantity="n_images_differ")}, _PUBLISHED),
    "CT-C03": _by_model(_SANDWICH, ("mnist",)),
    "CT-C04": _by_model(_SANDWICH, ("omniglot",)),
    "CT-C05": {
        **_by_model({"upper": partial(bound, which="upper")}, _PUBLISHED),
        **_by_model(
            {
                "upper - lower": partial(gap, high="upper", low="lower"),
                "published form - upper": partial(gap, high="published form", low="upper"),
            }
        ),
    },
    "CT-C06": _by_model(
        {f"K = {count}": partial(annealed, n_temperatures=count) for count in _PUBLISHED_LADDERS}, _PUBLISHED
    ),
    "CT-C07": _by_model({"rise": rise, "left at K = 2000": remaining}),
    "CT-C08": _by_model({"final": partial(final, method="gibbs_ct")}, _PUBLISHED),
    "CT-C09": _by_model({"final": partial(final, method="ct_hmc")}, _PUBLISHED),
    "CT-C10": {
        **_by_model({"final": partial(final, method="st")}, _PUBLISHED),
        **_by_model({"Gibbs CT - ST": below}),
    },
    "CT-C11": _by_model({"time": annealed_time}),
    "CT-C12": _by_model(
        {"time": partial(slower, along="seconds"), "gradients": partial(slower, along="gradients")}
    ),
    "CT-C13": _by_model(
        {
            "share of the index": index_share,
            "ST over Gibbs CT": partial(time_ratio, quantity="seconds_per_iteration", method="st"),
            "CT-HMC over Gibbs CT": partial(time_ratio, quantity="seconds_per_iteration", method="ct_hmc"),
        }
    ),
    "CT-C14": _by_model(
        {"time of a gradient": partial(time_ratio, quantity="seconds_per_gradient", method="ct_hmc")}
    ),
    "CT-C15": _by_model({"2 chains": partial(sharing, which=1), "most chains": partial(sharing, which=-1)}),
    "CT-C16": _by_model({"gain": parallel}),
    "CT-C17": _by_model(
        {"log zeta - single bound": zeta_minus_single_bound, "AIS - log zeta": annealed_minus_zeta}
    ),
    "CT-C18": _by_model(
        {"Gibbs CT": partial(efficiency, method="gibbs_ct"), "CT-HMC": partial(efficiency, method="ct_hmc")}
    ),
}
