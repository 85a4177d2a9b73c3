"""Chains of stochastic-gradient dynamics: figure 2.2, stationary variances, and mini-batches of more and more rows."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.distributions import bin_probabilities, sample_frequencies
from auxmc.diagnostics.errors_of_means import autocorrelation_time
from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import generator
from auxmc.kernels.base import Kernel
from auxmc.kernels.streams.stochastic_gradient_chain import stochastic_gradient_chain
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.random import standard_normal
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.estimator_illustrations.kernels import correlated, slow_direction
from experiments.estimator_illustrations.settings import Settings

_FRICTION = 0.2
_STEPS = (0.01, 0.1, 0.5, 1.5, 3.0)
_NOISY_STEP, _NOISE = 0.01, 10.0
# Of HMC with noisy gradients: those of the example that the source cites, Chen et al. 2014, figure 1, where U
# = -2 x^2 + x^4.
_NAIVE_STEP, _NAIVE_N_STEPS = 0.1, 50
_CITED_NOISE = 4.0
_WELL_EDGES = np.linspace(-2.5, 2.5, 51)
_FIGURE_START = (-3.0, 3.0)
_FORGOTTEN = 0.1
_FAR = 100
_N_COORDINATES = 16  # Of a chain: two are drawn, others are copies of a standard normal target
_BATCH, _LEARNING_RATE = 500, 0.1  # Of the streaming estimators, which the claim is about
_TRUE_MEAN = 2.0
_BATCH_BURN_IN = 0.2
_CURVE_POINTS = 100


Slope = Callable[[FloatArray], FloatArray]


class Configuration(NamedTuple):
    """One set of chains."""

    step: float  # eta
    friction: float  # alpha
    correction: float  # beta, half the variance of gradient noise that is to be made up for
    variance: float  # of the noise that is added to the gradient
    correlated: bool = False  # whether the target is that of figure 2.2 rather than a standard normal one


def configurations(settings: Settings) -> dict[str, Configuration]:
    """All sets of chains, by name."""
    exact = {f"step {step:g}": Configuration(step, _FRICTION, 0.0, 0.0) for step in _STEPS}
    corrections = {"uncorrected": 0.0, "corrected": 0.5 * _NOISE, "overcorrected": _NOISE}
    noisy = {name: Configuration(_NOISY_STEP, _FRICTION, c, _NOISE) for name, c in corrections.items()}
    figure = {
        name: Configuration(settings.gradient_step, friction, 0.0, settings.gradient_variance, True)
        for name, friction in (("sgld", 1.0), ("sghmc", settings.friction))
    }
    first_order = {"corrected, friction 1": Configuration(_NOISY_STEP, 1.0, 0.5 * _NOISE, _NOISE)}
    return {**exact, **noisy, **figure, **first_order}


def stationary_variance(
    step: FloatArray | float,
    friction: float,
    curvature: FloatArray | float,
    variance: FloatArray | float = 0.0,
    correction: float = 0.0,
) -> FloatArray:
    """Variance of the position on U = curvature x^2 / 2 with gradient noise, from second moments.

    The derivation is ours, as the source has the limit of small steps only. Raises ValueError where the
    dynamics are not stable: step times curvature must be below 2 (2 - friction).
    """
    product = np.asarray(step * np.asarray(curvature), dtype=np.float64)
    if np.any(product >= 2.0 * (2.0 - friction)):
        raise ValueError(
            f"step times curvature must be below 2 (2 - friction) = {2.0 * (2.0 - friction):g}, "
            f"got {product.max():g}"
        )
    noise = 2.0 * (friction - correction * step) * step + np.square(step) * variance
    below = friction * product * (2.0 * (2.0 - friction) - product)
    return np.asarray(noise * (2.0 - friction) / below, np.float64)


def run_dynamics(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs all chains; returns groups `statistics` and `curves`."""
    chains, batches = _chains(settings, context), _batch_chains(settings, context)
    parts = [_variances(settings, chains), _growth(settings, chains), _figure_measures(settings, chains)]
    parts += [_inflation(settings, context, batches), _naive_variances(settings, context)]
    lost = [part.draws["n_not_finite"].sum(dtype=int) for part in (chains, batches)]
    names = {"part": ["noisy gradients", "mini-batches"]}
    parts.append(xr.Dataset({"n_not_finite": ("part", lost)}, names))
    first = list(configurations(settings)).index("sgld")
    shown = chains.draws["x"][first : first + 2, 0, : settings.n_steps_shown]
    starts = np.broadcast_to(_FIGURE_START, (2, 1, 2))
    sizes = np.geomspace(min(settings.batch_rows), max(settings.batch_rows), _CURVE_POINTS)
    steps = np.geomspace(_STEPS[0], _STEPS[-1], _CURVE_POINTS)
    curves = xr.Dataset(
        {
            "gradient_path": (("dynamics", "step_number", "axis"), np.concatenate([starts, shown], axis=1)),
            "variance_curve": ("eta", stationary_variance(steps, _FRICTION, 1.0)),
            "inflation_curve": ("n", _inflation_formula(sizes, np.square(sizes) / _BATCH)),
        },
        coords={
            "dynamics": ["sgld", "sghmc"],
            "step_number": np.arange(shown.shape[1] + 1),
            "axis": ["x1", "x2"],
            "eta": steps,
            "n": sizes,
        },
    )
    return {"statistics": xr.merge(parts), "curves": curves}


def _chains(settings: Settings, context: RunContext) -> Chains:
    """All configurations in one program, Langevin dynamics as those with friction 1."""
    named = configurations(settings)
    table = jnp.asarray([[*c[:4], c.correlated] for c in named.values()], dtype=jnp.float64)
    figure = jnp.asarray(correlated(settings.correlation).precision)

    def build(parameters: dict[str, Array]) -> Kernel:
        step, friction, correction, variance, on_figure = table[parameters["configuration"].astype(jnp.int32)]
        precision = jnp.where(on_figure > 0.0, figure, jnp.eye(2))

        def gradient(x: Array, noise: Array) -> Array:
            exact = jnp.concatenate([jnp.matmul(precision, x[:2]), x[2:]])
            return exact + jnp.sqrt(variance) * noise

        def draw(key: Array) -> Array:
            return standard_normal(key, (_N_COORDINATES,))

        return stochastic_gradient_chain(gradient, draw, step, friction, _N_COORDINATES, correction)

    def initial(key: Array, parameters: dict[str, Array]) -> Any:
        on_figure = table[parameters["configuration"].astype(jnp.int32), 4]
        # Elsewhere one standard deviation from the mean, whose square is that of the target on average.
        start = jnp.where(on_figure > 0.0, jnp.array(_FIGURE_START), 1.0)
        return build(parameters).init(jnp.concatenate([start, jnp.ones(_N_COORDINATES - 2)]), key=key)

    def record(state: Any, info: Any) -> dict[str, Array]:
        square = jnp.mean(jnp.square(state.position))
        return {"x": state.position[:2], "square": square, "n_not_finite": info.n_not_finite}

    sweep = {"configuration": list(range(len(named)))}
    return run_chains(context, ("gradient noise",), Sampler(build, initial, record), settings, sweep=sweep)


def _variances(settings: Settings, chains: Chains) -> xr.Dataset:
    """Mean square of all coordinates of each chain, whose target has mean 0, and the closed form."""
    named = {name: c for name, c in configurations(settings).items() if not c.correlated}
    index, each = [list(configurations(settings)).index(name) for name in named], named.values()
    kept = chains.draws["square"][index][:, :, int(_FORGOTTEN * settings.n_draws) :]
    expected = [stationary_variance(c.step, c.friction, 1.0, c.variance, c.correction) for c in each]
    return xr.Dataset(
        {
            "variance": (("configuration", "chain"), kept.mean(axis=2)),
            "variance_expected": ("configuration", np.array(expected)),
            "gradient_step_of": ("configuration", [c.step for c in each]),
        },
        coords={"configuration": list(named), "chain": np.arange(settings.n_chains)},
    )


def _growth(settings: Settings, chains: Chains) -> xr.Dataset:
    """Mean square in tenths of the chains with noisy gradients and friction."""
    index, n = list(configurations(settings)).index("uncorrected"), settings.n_draws // 10
    tenths = chains.draws["square"][index][:, : 10 * n].reshape(settings.n_chains, 10, n)
    coords = {"tenth": np.arange(10), "chain": np.arange(settings.n_chains)}
    return xr.Dataset({"variance_by_time": (("chain", "tenth"), tenths.mean(axis=2))}, coords)


def naive_update(
    rng: np.random.Generator, x: FloatArray, variance: float, slope: Slope = np.asarray
) -> FloatArray:
    """HMC with a noisy gradient at each step, every end accepted; maps positions [...] to [...].

    The noise has the given variance; `slope` is the gradient of the potential energy, which maps positions in
    the same way. Source: MSc thesis, Algorithm 2.
    """
    sd = math.sqrt(variance)
    v = rng.standard_normal(x.shape) - 0.5 * _NAIVE_STEP * (slope(x) + sd * rng.standard_normal(x.shape))
    for _ in range(_NAIVE_N_STEPS):
        x = x + _NAIVE_STEP * v
        # The half step at the end is left out: the next update draws other momenta.
        v = v - _NAIVE_STEP * (slope(x) + sd * rng.standard_normal(x.shape))
    return x


def _naive_variances(settings: Settings, context: RunContext) -> xr.Dataset:
    """Stationary mean square of each chain of naive updates; of the cited example over the target's."""
    n_updates = settings.n_draws // _NAIVE_N_STEPS

    def positions(name: str, variance: float, slope: Slope) -> FloatArray:
        """Positions [draw, chain, coordinate] once the start is forgotten."""
        rng = generator(context.seed, context.study, "naive", name)
        draws = [rng.standard_normal((settings.n_chains, _N_COORDINATES))]
        for _ in range(n_updates):
            draws.append(naive_update(rng, draws[-1], variance, slope))
        return np.stack(draws[1 + int(_FORGOTTEN * n_updates) :])

    noises = settings.naive_noise
    found = [np.square(positions(f"{noise:g}", noise, np.asarray)).mean(axis=(0, 2)) for noise in noises]
    grid = np.linspace(-5.0, 5.0, 20_001)
    density = np.exp(2.0 * grid**2 - grid**4)
    cited = positions("cited", _CITED_NOISE, lambda x: 4.0 * x * (np.square(x) - 1.0))
    variance = (density @ np.square(grid)) / density.sum()
    frequencies = [sample_frequencies(cited[:, chain], _WELL_EDGES) for chain in range(settings.n_chains)]
    below = np.cumsum(density) / density.sum()
    probabilities = bin_probabilities(lambda x: np.interp(x, grid, below), _WELL_EDGES)
    return xr.Dataset(
        {
            "naive_variance": (("naive_noise", "chain"), found),
            "cited_variance": ("chain", np.square(cited).mean(axis=(0, 2)) / variance),
            "cited_frequency": (("chain", "well_bin"), np.array(frequencies)),
            "cited_probability": ("well_bin", probabilities),
        },
        coords={
            "naive_noise": noises,
            "chain": np.arange(settings.n_chains),
            "well_bin": np.arange(len(probabilities)),
        },
    )


def _figure_measures(settings: Settings, chains: Chains) -> xr.Dataset:
    """How smooth and how far both dynamics of figure 2.2 go."""
    first = list(configurations(settings)).index("sgld")
    kept = chains.draws["x"][first : first + 2, :, int(_FORGOTTEN * settings.n_draws) :]
    steps = np.diff(kept, axis=2)
    lengths = np.linalg.norm(steps, axis=-1)
    cosines = np.sum(steps[:, :, 1:] * steps[:, :, :-1], axis=-1) / (lengths[:, :, 1:] * lengths[:, :, :-1])
    far = np.linalg.norm(kept[:, :, _FAR:] - kept[:, :, :-_FAR], axis=-1)
    found = {
        "gradient_autocorrelation_time": autocorrelation_time(slow_direction(kept)),
        "turning_cosine": cosines.mean(axis=2),
        "travelled_length": lengths.mean(axis=2) * settings.n_steps_shown,
        "displacement": far.mean(axis=2),
    }
    data = xr.Dataset(
        {name: (("dynamics", "chain"), values) for name, values in found.items()},
        coords={"dynamics": ["sgld", "sghmc"], "chain": np.arange(settings.n_chains)},
    )
    data["gradient_autocorrelation_time"].attrs["units"] = "gradients"
    return data


@functools.cache
def _batch_data(seed: int, study: str, n_rows: int) -> FloatArray:
    return generator(seed, study, "rows").normal(_TRUE_MEAN, 1.0, n_rows)


def _batch_chains(settings: Settings, context: RunContext) -> Chains:
    """Posterior of a Gaussian mean given the first rows, with gradients from mini-batches of them."""
    data = jnp.asarray(_batch_data(context.seed, context.study, max(settings.batch_rows)))

    def build(parameters: dict[str, Array]) -> Kernel:
        n = parameters["n_rows"]

        def gradient(position: Array, batch: Array) -> Array:
            return position + n * (position - jnp.mean(data[batch]))

        def draw(key: Array) -> Array:
            # A product of real numbers compiles in a third of the time of integers with a traced bound.
            return jnp.floor(n * jax.random.uniform(key, (_BATCH,))).astype(jnp.int32)

        return stochastic_gradient_chain(gradient, draw, _LEARNING_RATE / n, _FRICTION, 1)

    def initial(key: Array, parameters: dict[str, Array]) -> Any:
        return build(parameters).init(jnp.full(1, _TRUE_MEAN), key=key)

    def record(state: Any, info: Any) -> dict[str, Array]:
        return {"x": state.position[0], "n_not_finite": info.n_not_finite}

    sampler, sweep = Sampler(build, initial, record), {"n_rows": settings.batch_rows}
    n_draws = settings.n_batch_draws
    return run_chains(context, ("mini-batches",), sampler, settings, n_draws=n_draws, sweep=sweep)


def _inflation(settings: Settings, context: RunContext, chains: Chains) -> xr.Dataset:
    """Mean squared distance from the posterior mean, over the posterior variance."""
    sizes = np.array(settings.batch_rows, dtype=float)
    data = _batch_data(context.seed, context.study, max(settings.batch_rows))
    means = np.array([data[:n].sum() / (n + 1.0) for n in settings.batch_rows])
    kept = chains.draws["x"][:, :, int(_BATCH_BURN_IN * settings.n_batch_draws) :]
    squares = np.square(kept - means[:, None, None]).mean(axis=2)
    noise = np.array([data[:n].var() for n in settings.batch_rows]) * np.square(sizes) / _BATCH
    return xr.Dataset(
        {
            "inflation": (("n_rows", "chain"), squares * (sizes + 1.0)[:, None]),
            "inflation_expected": ("n_rows", _inflation_formula(sizes, noise)),
            "first_order_inflation": ("n_rows", _inflation_formula(sizes, noise, 1.0)),
        },
        coords={"n_rows": settings.batch_rows, "chain": np.arange(settings.n_chains)},
    )


def _inflation_formula(sizes: FloatArray, noise: FloatArray, friction: float = _FRICTION) -> FloatArray:
    """Stationary variance over the posterior's for numbers of rows and variances of the gradient's noise [size]."""
    return stationary_variance(_LEARNING_RATE / sizes, friction, sizes + 1.0, noise) * (sizes + 1.0)
