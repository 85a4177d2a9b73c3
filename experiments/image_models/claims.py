"""Measures the published claims CT-C01 to CT-C18 from the study's tables."""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, exact, proportion
from auxmc_pipeline.tables import Measure, MissingData, Tables, Wanted
from experiments.image_models.joint_estimates import (
    PUBLISHED_IMAGES,
    n_claimed,
    of_images,
    rows_of,
    running_estimate,
    total_over_images,
    value_of,
)
from experiments.image_models.model.autoencoder_weights import OWN_MODELS, PUBLISHED_MODELS
from experiments.image_models.settings import PUBLISHED_LAYERS

_PUBLISHED_LADDERS = (50, 100, 200, 500, 1000, 2000)
# Distances from the lower bound at which an estimate counts as converged: 20 and 15 nats for 1000 images.
_NEAR_PER_IMAGE = {"mnist": 0.020, "own_digits": 0.020, "omniglot": 0.015, "own_glyphs": 0.015}
SIMILAR = (0.33, 3.0)  # The band of CT-C11: ratios of costs that count as similar
_NAMES = {"st": "ST", "ct_hmc": "CT-HMC"}
_COSTS = {"time": "seconds", "gradients": "gradients"}  # by their names in settings of claims
_MISSED = 1.0  # Nats below its lower bound from which on an image counts as missed by its chains
_RESAMPLES, _TWO_SIGMA = 4000, (0.02275, 0.97725)

_BOUNDS = {"lower": "joint_lower", "upper": "joint_upper", "published form": "joint_upper_arithmetic"}
# Means and variances of estimates of each image by groups of chains or runs.
_LAYOUT, _POOLED, _AIS_POOLED = "layout_image", "pooled_image", "ais_pooled_image"


def differing(tables: Tables, model: str, quantity: str) -> Measurement:
    """CT-C01 and CT-C02: parts of a published model that differ from what is on record of it."""
    try:
        return exact(tables.value(quantity, "published_model", published_model=model))
    except MissingData:
        advice = "set AUXMC_DATA_DIR to the folder that holds the author's weights, or run model="
        raise MissingData(f"cannot be compared: {advice}{model}") from None


def latents(tables: Tables, model: str) -> Measurement:
    """CT-C01: inputs of the decoder, which are known where no layer differs from those listed."""
    if differing(tables, model, "n_layers_differ").value:
        raise MissingData("layers differ from the author's")
    return exact(PUBLISHED_LAYERS[0][0])


def bound(tables: Tables, model: str, which: str) -> Measurement:
    """CT-C03 and CT-C04: a joint bound."""
    return _with_error(tables, model, _BOUNDS[which], f"{_BOUNDS[which]}_error")


def gap(tables: Tables, model: str) -> Measurement:
    """CT-C05: the tighter upper bound minus the lower one."""
    above, below = (_moments(tables, model, f"image_{which}") for which in ("upper", "lower"))
    return _difference_over_images(model, above, below, "nats")


def looseness(tables: Tables, model: str) -> Measurement:
    """The published form of the upper bound minus the tighter one, for the images of the run."""
    loose, tight = (value_of(tables, model, _BOUNDS[which]) for which in ("published form", "upper"))
    # The two forms come from the same weights, whose means are always in this order.
    n_images = value_of(tables, model, "n_images_used")
    return exact(loose - tight, f"nats, {n_images:.0f} images together")


def rise(tables: Tables, model: str) -> Measurement:
    """CT-C07: what a longer ladder adds."""
    counts = _ladders(tables, model)
    first, last = (_moments(tables, model, "ais_image_mean", n_temperatures=counts[i]) for i in (0, -1))
    return _difference_over_images(model, last, first, f"K = {counts[-1]} minus K = {counts[0]}, in nats")


def remaining(tables: Tables, model: str) -> Measurement:
    """CT-C07: what is missing at K = 2000, for 1000 images."""
    lower, lower_variance = _moments(tables, model, "image_lower")
    found, variance = _moments(tables, model, "ais_image_mean", n_temperatures=_PUBLISHED_LADDERS[-1])
    n_all = max(PUBLISHED_IMAGES, len(lower))
    return total_over_images(lower - found, lower_variance + variance, n_all)


def longest_ladder(tables: Tables, model: str) -> Measurement:
    """Joint estimate of annealing with the longest ladder."""
    count = _ladders(tables, model)[-1]
    return annealed(tables, model, n_temperatures=count).noted(f"K = {count}")


def below(tables: Tables, model: str) -> Measurement:
    """CT-C10: Gibbs continuous tempering minus simulated tempering."""
    tempering, gibbs = (_moments(tables, model, "image_mean", method=name) for name in ("st", "gibbs_ct"))
    return _difference_over_images(model, gibbs, tempering, "nats, final estimates")


def annealed_cost(tables: Tables, model: str, along: str) -> Measurement:
    """CT-C11: seconds or gradients of annealing over those of Gibbs continuous tempering, to come near the bound."""
    counts = _ladders(tables, model)
    quantity = {"seconds": "ais_seconds", "gradients": "ais_n_gradients"}[along]
    costs = np.array([value_of(tables, model, quantity, n_temperatures=count) for count in counts])
    estimates = [_moments(tables, model, "ais_image_mean", n_temperatures=count) for count in counts]
    annealing = _near_bound(tables, model, costs, estimates)
    names = (f"annealing of model {model}", "Gibbs CT")
    return ratio_of_passages(annealing, _first_near(tables, model, "gibbs_ct", along), names, *SIMILAR)


def slower(tables: Tables, model: str, along: str, method: str, low: float) -> Measurement:
    """CT-C10 and CT-C12: cost of a method over that of Gibbs CT, to come near the bound; the band begins at `low`."""
    own, gibbs = (_first_near(tables, model, name, along) for name in (method, "gibbs_ct"))
    return ratio_of_passages(own, gibbs, (f"{_NAMES[method]} of model {model}", "Gibbs CT"), low)


def missed(tables: Tables, model: str) -> Measurement:
    """Fraction of images whose estimate by Gibbs continuous tempering is more than a nat below their lower bound."""
    low = _from_lower(tables, model)[0] < -_MISSED
    return proportion(float(low.mean()), low.size, f"{int(low.sum())} of {low.size} images")


def from_lower(tables: Tables, model: str, missed_too: bool) -> Measurement:
    """Gibbs continuous tempering minus the lower bound, for the images of the run, or those that it does not miss."""
    distances, variances = _from_lower(tables, model)
    counted = missed_too | (distances >= -_MISSED)
    noise = math.sqrt(float(variances[counted].sum()))
    return Measurement(float(distances[counted].sum()), noise, f"{int(counted.sum())} images together (nats)")


def index_fraction(tables: Tables, model: str) -> Measurement:
    """CT-C13: part of the time of simulated tempering that Gibbs continuous tempering does not need."""
    found = time_ratio(tables, model, "seconds_per_iteration", "st")
    return Measurement(1.0 - 1.0 / found.value, math.nan, "both make the same moves between temperatures")


def time_ratio(tables: Tables, model: str, quantity: str, method: str) -> Measurement:
    """CT-C13 and CT-C14: a cost of a method over that of Gibbs continuous tempering."""
    cost, unit = (value_of(tables, model, quantity, method=name) for name in (method, "gibbs_ct"))
    return Measurement(cost / unit, math.nan, f"Gibbs CT needs {unit:.3g} s")


def sharing(
    tables: Tables, model: str, which: int, is_joint: bool = False, method: str = "gibbs_ct"
) -> Measurement:
    """CT-C15: log of the error of the length of one chain shared by several over that of the one chain."""
    counts = _counts(tables, model, "layout_mean", "n_sharing", method=method)
    if len(counts) <= 1:
        raise MissingData(f"several short chains of model {model}: not run at this preset")
    count = counts[which]
    one, several = (_of_pools(tables, model, _LAYOUT, "n_sharing", n, method=method) for n in (1, count))
    note = f"{count} chains of 1/{count} of the length"
    # The short chains are parts of the long ones: images are what is independent.
    return _ratio_of_errors([several], [one], note, is_joint)


def parallel(tables: Tables, model: str, method: str = "gibbs_ct", is_joint: bool = False) -> Measurement:
    """CT-C16: log of the gain of annealing from pooling runs over that of a method from pooling chains."""
    last = float(_ladders(tables, model)[-1])
    chains = _counts(tables, model, "pooled_mean", "n_parallel", method=method)
    runs = _counts(tables, model, "ais_pooled_mean", "n_parallel", n_temperatures=last)
    counts = [count for count in chains if count in runs]
    if len(counts) <= 1:
        raise MissingData(f"pooled chains of model {model}: not run at this preset")
    n = counts[-1]
    single_run, pooled_runs = (
        _of_pools(tables, model, _AIS_POOLED, "n_parallel", count, n_temperatures=last) for count in (1, n)
    )
    single_chain, pooled_chains = (
        _of_pools(tables, model, _POOLED, "n_parallel", count, method=method) for count in (1, n)
    )
    note = f"root mean square errors of 1 over those of {n} pooled, K = {last:.0f}"
    return _ratio_of_errors([single_run, pooled_chains], [pooled_runs, single_chain], note, is_joint)


def efficiency(tables: Tables, model: str, method: str) -> Measurement:
    """CT-C18: log of the error of simulated tempering over that of a method at the same number of gradients."""
    gradients = {name: running_estimate(tables, model, name)["gradients"] for name in ("st", method)}
    budget = min(spent[-1] for spent in gradients.values())
    middles = of_images(tables, model, "image_middle")
    errors = []
    for name, spent in gradients.items():
        at = int(np.searchsorted(spent, budget * (1.0 + 1e-9), side="right")) - 1
        biases = _running_of_images(tables, model, name)[:, at] - middles
        errors.append(np.stack([biases, np.zeros_like(biases)], axis=1))
    return _ratio_of_errors(errors[:1], errors[1:], f"root mean square errors after {budget:.3g} gradients")


def ratio_of_passages(
    above: tuple[Measurement, bool],
    below: tuple[Measurement, bool],
    names: tuple[str, str],
    low: float,
    high: float = math.inf,
) -> Measurement:
    """Ratio of two costs, of which those of a run that was too short are only bounded from below.

    Its error is NaN, unknown, where such a bound leaves the verdict open in the band from `low` to `high`.
    """
    (cost, reached), (unit, unit_reached) = above, below
    if not (reached or unit_reached):
        raise MissingData(f"neither {names[0]} nor {names[1]} came near the lower bound within its run")
    found = cost / unit
    if reached and unit_reached:
        return found
    # The true ratio lies below what was found, or above it.
    late, most = (names[1], "most") if reached else (names[0], "least")
    edge = high if math.isfinite(high) else low
    decided = found.value < low if reached else found.value > edge
    note = f"{late} did not come near within its run: the ratio is at {most} this"
    return found._replace(error=found.error if decided else math.nan, note=note)


def passage(
    costs: FloatArray, means: FloatArray, errors: FloatArray, level: float
) -> tuple[Measurement, bool]:
    """Cost after which estimates in nats [point] stay above a level, and whether they do before the end.

    Its error is half the distance of the passages of the curve shifted by a standard error either way, at
    least the last step.
    """

    def first(curve: FloatArray) -> int:
        low = np.flatnonzero(curve < level)
        return int(low[-1]) + 1 if low.size else 0

    place, early, late = (first(curve) for curve in (means, means + errors, means - errors))
    ends = np.append(costs, costs[-1])
    spacing = ends[place] - ends[place - 1] if 0 < place < len(costs) else np.diff(costs).max(initial=0.0)
    error = max(0.5 * (ends[late] - ends[early]), spacing)
    return Measurement(float(ends[place]), float(error)), place < len(costs)


def _with_error(
    tables: Tables, model: str, quantity: str, error: str, table: str = "point", **wanted: Wanted
) -> Measurement:
    found, its_error = (value_of(tables, model, name, table, **wanted) for name in (quantity, error))
    return Measurement(found, its_error)


# Joint estimates: of annealing (CT-C06), at the end of chains (CT-C08 to CT-C10), and by a number of pooled chains.
annealed = partial(_with_error, quantity="ais_joint_mean", error="ais_joint_error")
final = partial(_with_error, quantity="joint_mean", error="joint_error")
pooled = partial(_with_error, quantity="pooled_mean", error="pooled_error", table="n_parallel")


def _ladders(tables: Tables, model: str) -> list[int]:
    return _counts(tables, model, "ais_joint_mean", "n_temperatures")


def _counts(tables: Tables, model: str, quantity: str, dim: str, **wanted: Wanted) -> list[int]:
    table = "point" if dim == "n_temperatures" else dim
    return sorted({int(value) for value in rows_of(tables, model, table, quantity, **wanted)[dim]})


def _moments(
    tables: Tables, model: str, quantity: str, table: str = "image", **wanted: Wanted
) -> tuple[FloatArray, FloatArray]:
    """Estimates of each image and the variances of their noise [image]."""
    variance = f"{quantity.removesuffix('_mean')}_variance"
    values, variances = (of_images(tables, model, name, table, **wanted) for name in (quantity, variance))
    return values, variances


def _from_lower(tables: Tables, model: str) -> tuple[FloatArray, FloatArray]:
    """Gibbs continuous tempering minus the lower bound of each image, and the variance of its noise [image]."""
    lower, lower_variance = _moments(tables, model, "image_lower")
    found, variance = _moments(tables, model, "image_mean", method="gibbs_ct")
    return found - lower, variance + lower_variance


def _running_of_images(tables: Tables, model: str, method: str) -> FloatArray:
    """Running estimates of each image [image, point]."""
    rows = rows_of(tables, model, "estimated_image_point", "running_image_mean", method=method)
    by_place = rows.pivot(index="estimated_image", columns="point", values="running_image_mean")
    return by_place.to_numpy(np.float64)


def _difference_over_images(
    model: str, first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray], note: str = ""
) -> Measurement:
    """Joint difference of two estimates, each values and variances of their noise [image], for what is claimed."""
    n_all = n_claimed(model, len(first[0]))
    return total_over_images(first[0] - second[0], first[1] + second[1], n_all, note)


def _first_near(tables: Tables, model: str, method: str, along: str) -> tuple[Measurement, bool]:
    """Seconds or gradients after which an estimate stays near the lower bound, or all of them, and whether it does."""
    running, of_all = running_estimate(tables, model, method), _running_of_images(tables, model, method)
    estimates = [
        (values, np.full(len(of_all), error**2 / len(of_all)))
        for values, error in zip(of_all.T, running["error"], strict=True)
    ]
    return _near_bound(tables, model, running[along], estimates)


def _near_bound(
    tables: Tables, model: str, costs: FloatArray, estimates: list[tuple[FloatArray, FloatArray]]
) -> tuple[Measurement, bool]:
    """Passage of estimates, each values and variances of their noise [image], to the lower bound of what is claimed."""
    lower = _moments(tables, model, "image_lower")
    distances = [_difference_over_images(model, one, lower) for one in estimates]
    means, errors = (np.array([getattr(one, name) for one in distances]) for name in ("value", "error"))
    return passage(costs, means, errors, -n_claimed(model, len(lower[0])) * _NEAR_PER_IMAGE[model])


def _of_pools(
    tables: Tables, model: str, quantity: str, dim: str, count: int, **wanted: Wanted
) -> FloatArray:
    """Biases and variances of the estimates of each image by so many chains or runs [image, 2].

    Variances are multiplied by 1 - 1 / n: the square of a bias that is the mean of n estimates has one n-th
    of them.
    """
    means, variances = _moments(tables, model, f"{quantity}_mean", f"{dim}_image", **{dim: count}, **wanted)
    parts = ("n_runs", "annealed_repetitions") if quantity == _AIS_POOLED else ("n_chains", "n_repetitions")
    n_estimates = math.prod(int(tables.setting(part, model=model)) for part in parts) // count
    return np.stack(
        [means - of_images(tables, model, "image_middle"), variances * (1 - 1 / n_estimates)], axis=1
    )


def _ratio_of_errors(
    above: list[FloatArray], below: list[FloatArray], note: str, is_joint: bool = False
) -> Measurement:
    """Log of a product of root mean square errors over another: over images, or of their sum.

    A few images make most of a sum: the error is from leaving images out, or half the bootstrap's farther
    95 % end if larger.
    """
    pools = np.stack([*above, *below], axis=1)
    powers = np.repeat([0.5, -0.5], [len(above), len(below)])

    def log_ratio(kept: FloatArray) -> FloatArray:
        biases, variances = kept[..., 0], kept[..., 1].sum(axis=-2)
        # Biases of both signs cancel in a joint estimate.
        squares = biases.sum(axis=-2) ** 2 if is_joint else np.sum(biases**2, axis=-2)
        return np.asarray(np.log(squares + variances) @ powers, dtype=np.float64)

    n = len(pools)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = estimate(lambda kept: float(log_ratio(kept)), pools, method="paired", note=note)
        resampled = log_ratio(pools[np.random.default_rng(0).integers(n, size=(_RESAMPLES, n))])
    width = np.abs(np.quantile(resampled, _TWO_SIGMA) - found.value).max()
    return found._replace(error=max(found.error, 0.5 * float(width) * few_replicates(n)))


def _from_log(measure: Callable[..., Measurement], tables: Tables, model: str) -> Measurement:
    return measure(tables, model).exp()


def _by_model(
    measures: Mapping[str, Callable[..., Measurement]], models: tuple[str, ...] = PUBLISHED_MODELS
) -> dict[str, Measure]:
    """Settings are `model: name of the measure`."""
    return {
        f"{model}: {name}": partial(measure, model=model)
        for model in models
        for name, measure in measures.items()
    }


_iteration_time = partial(time_ratio, quantity="seconds_per_iteration")
_SANDWICH: dict[str, Callable[..., Measurement]] = {
    "lower": partial(bound, which="lower"),
    "upper - lower": lambda tables, model: (
        bound(tables, model, "published form") - bound(tables, model, "lower")
    ),
}

MEASURE: dict[str, dict[str, Measure]] = {
    "CT-C01": _by_model(
        {"layers that differ": partial(differing, quantity="n_layers_differ"), "latent dimensions": latents}
    ),
    "CT-C02": _by_model({"images that differ": partial(differing, quantity="n_images_differ")}),
    "CT-C03": _by_model(_SANDWICH, ("mnist",)),
    "CT-C04": _by_model(_SANDWICH, ("omniglot",)),
    "CT-C05": _by_model({"upper - lower": gap}),
    "CT-C06": _by_model({f"K = {k}": partial(annealed, n_temperatures=k) for k in _PUBLISHED_LADDERS}),
    "CT-C07": _by_model({"rise": rise, "sign of the rise": rise, "left at K = 2000": remaining}),
    "CT-C08": _by_model({"final": partial(final, method="gibbs_ct")}),
    "CT-C09": _by_model({"final": partial(final, method="ct_hmc")}),
    "CT-C10": _by_model(
        {
            "final": partial(final, method="st"),
            "Gibbs CT - ST": below,
            "sign of Gibbs CT - ST": below,
            **{name: partial(slower, along=cost, method="st", low=2.0) for name, cost in _COSTS.items()},
        }
    ),
    "CT-C11": _by_model({name: partial(annealed_cost, along=cost) for name, cost in _COSTS.items()}),
    "CT-C12": _by_model(
        {name: partial(slower, along=cost, method="ct_hmc", low=1.0) for name, cost in _COSTS.items()}
    ),
    "CT-C13": _by_model(
        {"fraction of the index": index_fraction, "ST over Gibbs CT": partial(_iteration_time, method="st")}
    ),
    "CT-C14": _by_model(
        {"time of a gradient": partial(time_ratio, quantity="seconds_per_gradient", method="ct_hmc")}
    ),
    "CT-C15": _by_model(
        {
            name + by + of: partial(sharing, which=which, is_joint=is_joint, method=method)
            for by, method in (("", "gibbs_ct"), (", ST", "st"), (", CT-HMC", "ct_hmc"))
            for of, is_joint in (("", False), (", joint", True))
            for name, which in (("2 chains", 1), ("most chains", -1))
        }
    ),
    "CT-C16": _by_model(
        {
            f"gain{by}{of}": partial(parallel, method=method, is_joint=is_joint)
            for by, method in (("", "gibbs_ct"), (", ST", "st"), (", CT-HMC", "ct_hmc"))
            for of, is_joint in (("", False), (", joint", True))
        }
    ),
    "CT-C18": _by_model(
        {"Gibbs CT": partial(efficiency, method="gibbs_ct"), "CT-HMC": partial(efficiency, method="ct_hmc")}
    ),
}

NUMBERS: dict[str, Measure] = {
    **_by_model(
        {
            "lower bound": partial(bound, which="lower"),
            "longest ladder": longest_ladder,
            "Gibbs CT": partial(final, method="gibbs_ct"),
            "CT-HMC": partial(final, method="ct_hmc"),
            "single chains": partial(pooled, n_parallel=1, method="gibbs_ct"),
            "upper - lower bound": gap,
            "published form - upper bound": looseness,
            "Gibbs CT - ST": below,
            "error of 2 chains over that of one": partial(_from_log, partial(sharing, which=1)),
            "gain of AIS from parallel runs": partial(_from_log, parallel),
            "error of ST over that of CT-HMC": partial(_from_log, partial(efficiency, method="ct_hmc")),
            "error of ST over that of Gibbs CT": partial(_from_log, partial(efficiency, method="gibbs_ct")),
            "time of ST over Gibbs CT": partial(_iteration_time, method="st"),
            "time of CT-HMC over Gibbs CT": partial(_iteration_time, method="ct_hmc"),
        },
        OWN_MODELS,
    ),
    **_by_model({"missed images": missed}),
    **_by_model(
        {
            "Gibbs CT - lower bound": partial(from_lower, missed_too=True),
            "Gibbs CT - lower bound, missed images left out": partial(from_lower, missed_too=False),
        },
        ("mnist",),
    ),
}
