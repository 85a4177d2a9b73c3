"""Nested sampling: shrinkage of the prior mass, the three sums, and the spread of its estimates."""

import decimal
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import stats

from auxmc.diagnostics.dead_points import nested_evidence
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import generator, stream
from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence, linear_regression
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.measuring import standard_error
from experiments.estimator_illustrations.model import ideal_nested_sampling
from experiments.estimator_illustrations.settings import Settings
from experiments.streaming_evidence.model import rows

_N_FEATURES = 5
_N_ROWS = 1000
_N_MOVES = 30
_STEP = 1e-3
# Dead points for each live point after which a run is given up: twice what is needed.
_ITERATIONS = 80
_SHRINKAGE_LIVE = (2, 10, 100)
_SHRINKAGE_STEPS, _SHRINKAGE_RUNS = 5, 10_000
_RATIO_LIVE = (2, 5, 10, 100, 1000, 10_000)
_DIGITS = 50


def run_nested(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs nested sampling many times for each number of live points, and checks; returns group `statistics`."""
    spread = _spread(settings, context)
    rng = generator(context.seed, context.study, "shrinkage")
    shrinkage = [_shrinkage(rng, n) for n in _SHRINKAGE_LIVE]
    errors = sum_errors(generator(context.seed, context.study, "sums"))
    statistics = xr.Dataset(
        {
            **{name: ("n_exact_live", [found[name] for found in shrinkage]) for name in shrinkage[0]},
            "sum_error": ("sum", list(errors.values()), {"units": "nats"}),
            "shrinkage_ratio": ("n_ratio_live", shrinkage_ratios(np.array(_RATIO_LIVE, dtype=float))),
        },
        coords={
            "n_exact_live": list(_SHRINKAGE_LIVE),
            "sum": list(errors),
            "n_ratio_live": list(_RATIO_LIVE),
        },
    )
    return {"statistics": xr.merge([statistics, spread])}


def shrinkage_ratios(n_live: FloatArray) -> FloatArray:
    """M/(M+1) - exp(-1/M) over its leading term 1/(2 M^2), for each number of live points M."""
    difference = -1.0 / (n_live + 1.0) - np.expm1(-1.0 / n_live)  # Less 1, common to both
    return np.asarray(difference * 2.0 * np.square(n_live), dtype=np.float64)


def sum_errors(rng: np.random.Generator) -> dict[str, float]:
    """Largest errors, in nats, of the three sums and of what the source says about them, against long arithmetic."""
    found = {"lower": 0.0, "level": 0.0, "upper": 0.0, "listing": 0.0, "difference": 0.0}
    for n_live in (2, 10, 200):
        values = np.sort(rng.normal(0.0, 30.0, 15 * n_live)) - 200.0
        exact = _long_sums(values, n_live)
        ours = {
            "lower": nested_evidence(values, n_live, estimator="lower").value,
            "level": nested_evidence(values, n_live, estimator="lebesgue").value,
            "upper": nested_evidence(values, n_live, estimator="upper").value,
            "listing": nested_evidence(values, n_live, estimator="upper", shrinkage="mean").value,
        }
        errors = {name: value - exact[name] for name, value in ours.items()}
        # The upper sum is the lower one with all masses shifted by a step.
        errors["difference"] = ours["upper"] - ours["lower"] - 1.0 / n_live
        found = {name: max(found[name], abs(error)) for name, error in errors.items()}
    return found


def _long_sums(log_likelihoods: FloatArray, n_live: int) -> dict[str, float]:
    """Sums as the source writes them, in decimal numbers of many digits."""
    with decimal.localcontext() as arithmetic:
        arithmetic.prec = _DIGITS
        shrink = (decimal.Decimal(-1) / n_live).exp()
        likelihoods = [decimal.Decimal(0), *(decimal.Decimal(float(v)).exp() for v in log_likelihoods)]
        masses = [shrink**k for k in range(len(likelihoods) + 1)]
        steps = range(1, len(likelihoods))
        sums = {
            "level": sum((likelihoods[k] - likelihoods[k - 1]) * masses[k] for k in steps),
            "lower": sum(likelihoods[k] * (masses[k] - masses[k + 1]) for k in steps),
            "upper": sum(likelihoods[k] * (masses[k - 1] - masses[k]) for k in steps),
        }
        # The published listing: a weight of 1 - M/(M+1), times M/(M+1) after each point.
        factor = decimal.Decimal(n_live) / (n_live + 1)
        weight, sums["listing"] = 1 - factor, decimal.Decimal(0)
        for likelihood in likelihoods[1:]:
            sums["listing"] += weight * likelihood
            weight *= factor
        return {name: float(decimal.Decimal(value).ln()) for name, value in sums.items()}


def compressed_log_likelihood(data: FloatArray) -> Callable[[Array], Array]:
    """Log likelihood of the linear model by parameters [dim], from a QR factor: its cost does not grow with rows."""
    design = np.concatenate([data[:, :-1], np.ones((len(data), 1)), data[:, -1:]], axis=1)
    factor = jnp.asarray(np.linalg.qr(design, mode="r"))
    dim = design.shape[1] - 1
    constant = -0.5 * len(data) * math.log(2.0 * math.pi)

    def log_likelihood(parameters: Array) -> Array:
        residual = factor[:, dim] - jnp.matmul(factor[:, :dim], parameters)
        return constant - 0.5 * jnp.sum(jnp.square(residual))

    return log_likelihood


def _spread(settings: Settings, context: RunContext) -> xr.Dataset:
    model, data = linear_regression(_N_FEATURES), rows("linear", _N_ROWS)
    exact = extend_evidence(PrefixEvidence.empty(_N_FEATURES), data, 1.0).log_evidence(1.0)
    log_likelihood = compressed_log_likelihood(data)
    progress = Progress(f"{context.label} [nested]")
    columns: dict[str, list[Any]] = {"nested_error": [], "nested_information": [], "n_stuck": []}
    failures = lost = 0
    for n_live in settings.n_live:
        chosen = NestedSettings(
            n_live,
            _N_MOVES,
            step=_STEP,
            friction=0.1,
            metropolis=settings.nested_metropolis,
            max_iterations=_ITERATIONS * n_live,
        )
        sampler = nested_sampling(log_likelihood, model.log_prior, chosen)

        def one(key: Array, sampler: Any = sampler, n_live: int = n_live) -> Any:
            draws = jax.vmap(model.draw_prior)(jax.random.split(jax.random.fold_in(key, 0), n_live))
            return sampler(jax.random.fold_in(key, 1), draws)

        keys = jax.random.split(stream(context.seed, context.study, "nested", n_live), settings.n_nested_runs)
        # Side by side, the longest run would hold up all and every step would copy the dead points of all.
        program = jax.jit(lambda keys, one=one: jax.lax.map(one, keys))
        runs = jax.tree.map(np.asarray, program(keys))
        found = [
            nested_evidence(
                runs.log_likelihoods[i][: runs.n_iterations[i]], n_live, runs.live_log_likelihoods[i]
            )
            for i in range(settings.n_nested_runs)
        ]
        columns["nested_error"].append([f.value - exact for f in found])
        columns["nested_information"].append([f.information for f in found])
        columns["n_stuck"].append(runs.n_stuck)
        failures += int((~runs.finished).sum())
        lost += int((~np.isfinite([f.value for f in found])).sum())
        progress.say(f"{n_live} live points, {int(runs.n_iterations.mean())} dead ones in a run")
    counts = {"n_failures": ("part", [failures], {"units": "runs"}), "n_not_finite": ("part", [lost])}
    if not settings.n_live:
        return xr.Dataset(counts, coords={"part": ["nested"]})
    dims = ("n_live_points", "run")
    statistics = xr.Dataset(
        {name: (dims, np.array(values, dtype=float)) for name, values in columns.items()},
        coords={"n_live_points": settings.n_live, "run": np.arange(settings.n_nested_runs)},
    )
    for name in ("nested_error", "nested_information"):
        statistics[name].attrs["units"] = "nats"
    statistics["n_stuck"].attrs["units"] = "replacements"
    return statistics.assign_coords(part=["nested"]).assign(counts)


def _shrinkage(rng: np.random.Generator, n_live: int) -> dict[str, float]:
    """Distance of steps from Beta(M, 1), its largest standard error, and the mean last mass over its expectation."""
    # The square s of the radius in the plane has P(s < t) = 1 - exp(-t/2).
    masses = ideal_nested_sampling(
        rng,
        lambda square: -np.expm1(-0.5 * np.maximum(square, 0.0)),
        lambda level: -2.0 * np.log1p(-level),
        0.0,
        n_live=n_live,
        n_dead=_SHRINKAGE_STEPS,
        n_runs=_SHRINKAGE_RUNS,
    ).masses
    before = np.concatenate([np.ones((_SHRINKAGE_RUNS, 1)), masses[:, :-1]], axis=1)
    test = stats.kstest((masses / before).ravel(), stats.beta(n_live, 1).cdf)
    ratios = masses[:, -1] / (n_live / (n_live + 1.0)) ** _SHRINKAGE_STEPS
    return {
        "shrinkage_distance": float(test.statistic),
        "shrinkage_distance_error": 0.5 / math.sqrt(masses.size),
        "shrinkage_p_value": float(test.pvalue),
        "shrinkage_mean_ratio": float(ratios.mean()),
        "shrinkage_mean_ratio_error": standard_error(ratios),
    }
