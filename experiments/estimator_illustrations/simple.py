"""Prior averaging and the harmonic mean on Gaussian observations with a Gaussian mean: figures 3.1 to 3.3."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from auxmc.diagnostics.simple_evidence import harmonic_mean, log_reciprocal, prior_average
from auxmc.driver.seeds import generator
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.measuring import standard_error
from experiments.estimator_illustrations.model import GaussianMean, LogEvidenceDistribution, from_observations
from experiments.estimator_illustrations.settings import Settings
from experiments.streaming_evidence.model import rows

_N_ROWS = 100
_N_BATCHES = 20  # Replicates are made in this many batches, over which errors are taken
_TOP_FRACTION = 1e-3
_BLOCK = 1000
# The source's data are a hundred draws from N(2, 1); the decimal order of their evidence is printed.
_TRUE_MEAN, _PRINTED_ORDER = 2.0, -64.0
_AXIS = np.linspace(-3.0, 4.0, 701)
_EXCESSES = (1.0, 2.0, 3.0)


def run_simple(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Makes all estimates; returns groups `statistics` and `curves`."""
    model = from_observations(rows("normal", _N_ROWS)[:, 0])
    below = LogEvidenceDistribution(_N_ROWS, _TRUE_MEAN).cdf(_PRINTED_ORDER * np.log(10.0))
    found = [measure(settings, context, model) for measure in _MEASURES.values()]
    variables: dict[str, Any] = {
        "printed_order_p_value": ((), 2.0 * min(below, 1.0 - below)),
        "log_evidence": ((), model.log_evidence, {"units": "nats"}),
        "log10_evidence": ((), model.log_evidence / np.log(10.0), {"units": "decades"}),
        # The reciprocal likelihood to the power p has a finite posterior mean for p below this.
        "reciprocal_tail_exponent": ((), 1.0 / float(model.n_rows * model.posterior()[1])),
        "log_largest_likelihood": ((), model.log_largest_likelihood, {"units": "nats"}),
        "n_not_finite": ("part", [(~np.isfinite(estimates)).sum() for estimates, _ in found]),
    }
    for _, measures in found:
        variables |= measures
    curve = xr.concat([_histograms(estimates, settings.n_bins) for estimates, _ in found], "estimate")
    statistics = xr.Dataset(variables, coords={"part": list(_MEASURES), "excess": list(_EXCESSES)})
    prior = np.exp(-0.5 * np.square(_AXIS)) / np.sqrt(2.0 * np.pi)
    likelihood = np.exp(model.log_likelihood(_AXIS) - model.log_largest_likelihood)
    curve = curve.assign_coords(estimate=list(_MEASURES), mu=_AXIS)
    curve["prior_density"], curve["scaled_likelihood"] = ("mu", prior), ("mu", likelihood)
    return {"statistics": statistics, "curves": curve}


def excess_probabilities(log_ratios: FloatArray) -> tuple[str, FloatArray]:
    """Fractions of estimates above the evidence by 1, 2 and 3 nats or more [excess]."""
    return "excess", np.array([np.mean(log_ratios >= excess) for excess in _EXCESSES])


_Found = tuple[FloatArray, dict[str, tuple[Any, ...]]]  # all estimates, and measures of them


def _generators(
    settings: Settings, context: RunContext, name: str
) -> Iterator[tuple[np.random.Generator, tuple[int, int]]]:
    shape = (settings.n_replicates // _N_BATCHES, settings.n_samples)
    for batch in range(_N_BATCHES):
        yield generator(context.seed, context.study, name, batch), shape


def _prior_measures(settings: Settings, context: RunContext, model: GaussianMean) -> _Found:
    batches = [
        prior_average(model.log_likelihood(rng.standard_normal(shape))) - model.log_evidence
        for rng, shape in _generators(settings, context, "prior")
    ]
    everything = np.concatenate(batches)
    functions: dict[str, Callable[[FloatArray], Any]] = {
        "prior_mean_ratio": lambda b: np.exp(b).mean(),
        "prior_below": lambda b: np.mean(b < 0.0),
        "prior_far_below": lambda b: np.mean(b < -np.log(100.0)),
        "prior_median_decades": lambda b: np.median(b) / np.log(10.0),
    }
    return everything, _over_batches(batches, functions) | {"prior_excess": excess_probabilities(everything)}


def _harmonic_measures(settings: Settings, context: RunContext, model: GaussianMean) -> _Found:
    draws = (model.draw(rng, shape) for rng, shape in _generators(settings, context, "harmonic"))
    likelihoods = [model.log_likelihood(mu) for mu in draws]
    batches = [harmonic_mean(values) - model.log_evidence for values in likelihoods]
    everything = np.concatenate(batches)
    functions: dict[str, Callable[[FloatArray], Any]] = {
        "harmonic_median_decades": lambda b: np.median(b) / np.log(10.0),
        "harmonic_over_hundred": lambda b: np.mean(b >= np.log(100.0)),
    }
    reciprocals = [_reciprocal_measures((values - model.log_evidence).ravel()) for values in likelihoods]
    bound = (model.log_largest_likelihood - model.log_evidence) / np.log(10.0)
    names = ("reciprocal_top_share", "reciprocal_mean", "reciprocal_mean_few")
    found = _over_batches(batches, functions) | {
        "harmonic_largest_decades": ((), everything.max() / np.log(10.0), {"units": "decades"}),
        "harmonic_bound_decades": ((), bound, {"units": "decades"}),
        **{name: ("batch", values) for name, values in zip(names, np.array(reciprocals).T, strict=True)},
        "n_reciprocals": ((), sum(values.size for values in likelihoods), {"units": "draws"}),
    }
    return everything, found


def _reciprocal_measures(log_ratios: FloatArray) -> tuple[float, float, float]:
    """Evidence over likelihood at posterior draws: fraction of the largest, mean (ideally 1), median of means."""
    reciprocals = np.exp(-log_ratios)
    n_top = max(1, int(_TOP_FRACTION * reciprocals.size))
    top = np.partition(reciprocals, reciprocals.size - n_top)[-n_top:]
    n_blocks = reciprocals.size // _BLOCK
    blocks = np.exp(log_reciprocal(log_ratios[: n_blocks * _BLOCK].reshape(n_blocks, _BLOCK)))
    return float(top.sum() / reciprocals.sum()), float(reciprocals.mean()), float(np.median(blocks))


_MEASURES = {"prior": _prior_measures, "harmonic": _harmonic_measures}


def _over_batches(
    batches: list[FloatArray], functions: dict[str, Callable[[FloatArray], Any]]
) -> dict[str, tuple[Any, ...]]:
    found: dict[str, tuple[Any, ...]] = {}
    for name, function in functions.items():
        values = np.array([function(batch) for batch in batches])
        units = {"units": "decades"} if name.endswith("decades") else {}
        found[name] = ((), values.mean(), units)
        found[f"{name}_error"] = ((), standard_error(values), units)
    return found


def _histograms(log_ratios: FloatArray, n_bins: int) -> xr.Dataset:
    """Counts of estimates, in units of the evidence, and of their logs, in nats above that of the evidence."""
    finite = log_ratios[np.isfinite(log_ratios)]
    counts, edges = np.histogram(np.exp(finite), n_bins, (0.0, float(np.exp(finite.max()))))
    log_counts, log_edges = np.histogram(finite, n_bins)
    return xr.Dataset(
        {
            "ratio_count": ("bin", counts),
            "log_ratio_count": ("bin", log_counts),
            "ratio_edges": ("end", edges[[0, -1]]),
            "log_ratio_edges": ("end", log_edges[[0, -1]], {"units": "nats"}),
        },
        coords={"bin": np.arange(n_bins), "end": ["low", "high"]},
    )
