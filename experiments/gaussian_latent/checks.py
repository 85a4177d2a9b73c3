"""Checks that need no long chains: noise of the log estimate, exactness of updates, constants of the theory."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import optimize, stats

from auxmc.driver.blocks import Sampler, sample
from auxmc.driver.chains import RunContext
from auxmc.driver.seeds import generator, stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.pseudo_marginal.updates import PseudoMarginalState, pseudo_marginal_metropolis
from auxmc.kernels.slices.core import SliceInfo, SliceState
from auxmc.kernels.slices.reflective_slice import reflect, reflective_slice
from auxmc.numerics.array_types import FloatArray
from experiments.gaussian_latent.model import GaussianLatentModel, estimator

_N_BINS = 80
_BINS_A_SIDE = 8
_REFLECTIVE_STEPS = 20
_IDENTITY_STEPS = 500
_IDENTITY_STEP_SIZE = 0.4
_ILLUSTRATION_TRIES = 5000
_GRID_SIDE = 61
_PATH_POINTS = 401


class TheoryConstants(NamedTuple):
    """Optima of high-dimensional theory, each found by numerical maximisation of its efficiency.

    Attributes:
        random_walk_acceptance: accept rate of the best random-walk Metropolis step.
        pseudo_marginal_acceptance: accept rate of pseudo-marginal random-walk Metropolis at the joint optimum of step
            size and noise, the cost of an estimate being inversely proportional to the variance of its log.
        pseudo_marginal_variance: variance of the log estimate there, in nats squared.
        compromise_sd: standard deviation of the log estimate that loses least in the worse of two extreme
            cases, perfect proposals and proposals that hardly move, in nats.
    """

    random_walk_acceptance: float
    pseudo_marginal_acceptance: float
    pseudo_marginal_variance: float
    compromise_sd: float


def theory_constants() -> TheoryConstants:
    """Maximises the efficiencies behind the rules of thumb that the thesis quotes.

    Source: PhD thesis, sections 3.2 and 3.4. Roberts, Gelman and Gilks (1997) for random-walk Metropolis:
    efficiency l^2 a(l) with a(l) = 2 Phi(-l/2). Sherlock, Thiery, Roberts and Rosenthal (2015) for
    pseudo-marginal random-walk Metropolis: v l^2 a(l, v) with a(l, v) = 2 Phi(-sqrt(l^2 + 2 v)/2). Doucet,
    Pitt, Deligiannidis and Kohn (2015) for the compromise. The two extremes of the last are perfect proposals
    (Pitt and others, 2012), and the limit in which the noise divides the accept rate by 1/(2 Phi(-sd/sqrt(2))).
    """

    def acceptance(length: float, variance: float) -> float:
        return float(2.0 * stats.norm.cdf(-0.5 * math.sqrt(length**2 + 2.0 * variance)))

    def negative_efficiency(logs: FloatArray) -> float:
        length, variance = np.exp(logs)
        return float(-variance * length**2 * acceptance(length, variance))

    walk = _minimum(lambda length: -(length**2) * acceptance(length, 0.0), 0.5, 6.0)
    options = {"xatol": 1e-10, "fatol": 1e-14}
    both = optimize.minimize(negative_efficiency, [0.9, 1.2], method="Nelder-Mead", options=options)
    length, variance = (float(value) for value in np.exp(both.x))
    costs = (_cost_perfect_proposal, _cost_slow_proposal)
    best = [cost(_minimum(cost, 0.3, 4.0)) for cost in costs]
    compromise = _minimum(
        lambda sd: max(cost(sd) / least for cost, least in zip(costs, best, strict=True)), 0.3, 4.0
    )
    return TheoryConstants(acceptance(walk, 0.0), acceptance(length, variance), variance, compromise)


def estimator_noise(
    context: RunContext,
    points: Mapping[str, tuple[GaussianLatentModel, FloatArray]],
    sizes: Sequence[int],
    n_draws: int,
) -> dict[str, xr.Dataset]:
    """Standard deviation and histogram of the log estimate at fixed x over fresh auxiliary variables.

    Args:
        context: random streams.
        points: model and x [dim] of each data set.
        sizes: numbers of importance samples.
        n_draws: estimates of each.

    Returns:
        Statistics `sd_log_estimate` and its standard error, curves of the density of the log estimate about its
        mean, dims (dataset, n_importance[, bin_log_estimate]), in nats.
    """
    edges = np.linspace(-20.0, 20.0, _N_BINS + 1)
    shape = (len(points), len(sizes))
    sd, error = np.empty(shape), np.empty(shape)
    density = np.empty((*shape, _N_BINS))
    for j, size in enumerate(sizes):
        draw = _estimate_sampler(next(iter(points.values()))[0], size)
        for i, (label, (model, position)) in enumerate(points.items()):
            keys = jax.random.split(stream(context.seed, context.study, label, "estimator", size), n_draws)
            values = np.asarray(draw(keys, jnp.asarray(model.observations), jnp.asarray(position)))
            deviations = values - values.mean()
            sd[i, j] = values.std(ddof=1)
            # Delta method, which holds for the skew law of a log estimate too.
            error[i, j] = np.square(deviations).std(ddof=1) / (2.0 * sd[i, j] * math.sqrt(n_draws))
            density[i, j] = np.histogram(deviations, edges)[0] / (n_draws * np.diff(edges))
    dims = ("dataset", "n_importance")
    coords = {"dataset": list(points), "n_importance": list(sizes)}
    statistics = xr.Dataset(
        {
            "sd_log_estimate": (dims, sd, {"units": "nats"}),
            "sd_log_estimate_error": (dims, error, {"units": "nats"}),
        },
        coords=coords,
    )
    centres = 0.5 * (edges[1:] + edges[:-1])
    curves = xr.Dataset(
        {"density_log_estimate": ((*dims, "bin_log_estimate"), density, {"units": "1/nats"})},
        coords=coords | {"bin_log_estimate": centres},
    )
    return {"statistics": statistics, "curves": curves}


def exactness_checks(context: RunContext, model: GaussianLatentModel, n_chains: int) -> dict[str, xr.Dataset]:
    """Reflective slice sampling leaves its target invariant; PM MH is MH on (x, u); constants of the theory.

    Args:
        context: random streams.
        model: the model, for the second check.
        n_chains: independent chains of the first check.

    Returns:
        Statistics and curves (illustration of one reflective slice update).
    """
    chi_square, p_value = _reflective_chi_square(context, n_chains)
    constants = theory_constants()
    statistics = xr.Dataset(
        {
            "reflective_chi_square": ((), chi_square),
            "reflective_p_value": ((), p_value),
            "identity_largest_difference": ((), _identity_difference(context, model)),
            **{f"theory_{name}": ((), value) for name, value in constants._asdict().items()},
        }
    )
    curves = _illustration(context)
    return {"statistics": statistics, "curves": curves}


def _minimum(function: Any, low: float, high: float) -> float:
    found = optimize.minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    return float(found.x)


def _cost_perfect_proposal(sd: float) -> float:
    """Integrated autocorrelation time over noise variance when every proposal of x is an independent exact draw."""
    noise = np.linspace(0.5 * sd**2 - 10.0 * sd, 0.5 * sd**2 + 12.0 * sd, 4001)
    weights = stats.norm.pdf(noise, 0.5 * sd**2, sd)
    rate = stats.norm.cdf((-0.5 * sd**2 - noise) / sd) + np.exp(-noise) * stats.norm.cdf(
        (noise - 0.5 * sd**2) / sd
    )
    return float(np.trapezoid(weights * (2.0 / rate - 1.0), noise)) / sd**2


def _cost_slow_proposal(sd: float) -> float:
    return float(1.0 / (2.0 * stats.norm.cdf(-sd / math.sqrt(2.0)))) / sd**2


def _estimate_sampler(
    model: GaussianLatentModel, n_importance: int
) -> Callable[[Array, Array, Array], Array]:
    """Compiled map from (keys [draw], observations, position) to log estimates [draw]."""

    def draw_all(keys: Array, observations: Array, position: Array) -> Array:
        # Observations are an argument, so that data sets of one size share a program.
        estimate = estimator(model._replace(observations=observations), n_importance)  # type: ignore[arg-type]
        cache = estimate.prepare(position)
        # A few at a time: all auxiliary variables of many draws would not fit into memory.
        return jax.lax.map(
            lambda key: estimate.log_estimate(cache, estimate.draw_auxiliary(key)), keys, batch_size=64
        )

    compiled: Callable[[Array, Array, Array], Array] = jax.jit(draw_all)
    return compiled


def _square_log_density(point: Array) -> Array:
    """Test density on the unit square, with a ridge that runs into the walls; not normalised, in nats."""
    return 2.0 * jnp.cos(math.pi * point[0]) + 2.5 * jnp.cos(math.pi * (point[0] - point[1]))


def _reflective_chi_square(context: RunContext, n_chains: int) -> tuple[float, float]:
    """Pearson's statistic and p value of chains that started from exact draws and made some updates."""
    kernel = reflective_slice(_square_log_density, 2)
    rng = generator(context.seed, context.study, "reflective", "start")
    starts = jnp.asarray(_exact_square_draws(rng, n_chains))

    def initial(key: Array, start: Array) -> SliceState:
        state: SliceState = kernel.init(key, start)
        return state

    def record(state: SliceState, info: SliceInfo) -> dict[str, Array]:
        del info
        return {"position": state.position}

    keys = jax.random.split(stream(context.seed, context.study, "reflective"), n_chains)
    sampler = Sampler(lambda start: kernel, initial, record)
    samples = sample(sampler, starts, keys, n_draws=_REFLECTIVE_STEPS, block_size=_REFLECTIVE_STEPS)
    last = samples.draws["position"][:, -1]
    counts = np.histogram2d(last[:, 0], last[:, 1], bins=_BINS_A_SIDE, range=[[0, 1], [0, 1]])[0].ravel()
    expected = n_chains * _square_bin_probabilities().ravel()
    # Bins with too few expected draws are put together, or the law of the statistic is not chi-squared.
    few = expected < 5.0
    if few.any():
        counts = np.append(counts[~few], counts[few].sum())
        expected = np.append(expected[~few], expected[few].sum())
    result = stats.chisquare(counts, expected)
    return float(result.statistic), float(result.pvalue)


def _exact_square_draws(rng: np.random.Generator, n_draws: int) -> FloatArray:
    """Draws [draw, 2] from the test density by rejection from the uniform."""
    kept: list[FloatArray] = []
    while sum(map(len, kept)) < n_draws:
        points = rng.random((4 * n_draws, 2))
        log_density = 2.0 * np.cos(np.pi * points[:, 0]) + 2.5 * np.cos(np.pi * (points[:, 0] - points[:, 1]))
        kept.append(points[np.log(rng.random(len(points))) < log_density - 4.5])
    return np.concatenate(kept)[:n_draws]


def _square_bin_probabilities() -> FloatArray:
    nodes, weights = np.polynomial.legendre.leggauss(12)
    points = (np.arange(_BINS_A_SIDE)[:, None] + 0.5 * (nodes + 1.0)).ravel() / _BINS_A_SIDE
    first, second = np.meshgrid(points, points, indexing="ij")
    density = np.exp(2.0 * np.cos(np.pi * first) + 2.5 * np.cos(np.pi * (first - second)))
    weighted = density * np.outer(np.tile(weights, _BINS_A_SIDE), np.tile(weights, _BINS_A_SIDE))
    mass = weighted.reshape(_BINS_A_SIDE, 12, _BINS_A_SIDE, 12).sum(axis=(1, 3))
    return np.asarray(mass / mass.sum())


class _Pair(NamedTuple):
    """PM MH and MH on the joint space, driven by the same random numbers."""

    pseudo_marginal: PseudoMarginalState
    position: Array
    auxiliary: Array
    log_joint: Array


def _identity_difference(context: RunContext, model: GaussianLatentModel) -> float:
    """Largest difference between the states of PM MH and of Metropolis-Hastings on (x, u), along one chain.

    The second evaluates the full joint density estimate(x, u) rho(u) and the full proposal density, in which u* ~ rho,
    and so does not assume that rho cancels.
    """
    estimate = estimator(model, 1)
    kernel = pseudo_marginal_metropolis(estimate, _IDENTITY_STEP_SIZE, model.dim)

    def log_rho(auxiliary: Array) -> Array:
        return -0.5 * jnp.sum(jnp.square(auxiliary)) - 0.5 * auxiliary.size * math.log(2.0 * math.pi)

    def log_joint(position: Array, auxiliary: Array) -> Array:
        return estimate.log_estimate(estimate.prepare(position), auxiliary) + log_rho(auxiliary)

    def initial(key: Array, parameters: Array) -> _Pair:
        del parameters
        state = kernel.init(key, jnp.zeros(model.dim))
        return _Pair(state, state.position, state.auxiliary, log_joint(state.position, state.auxiliary))

    def apply(noise: Any, pair: _Pair) -> tuple[_Pair, Array]:
        state, _ = kernel.apply(noise, pair.pseudo_marginal)
        position = pair.position + _IDENTITY_STEP_SIZE * noise.normal
        proposed = log_joint(position, noise.auxiliary)
        log_ratio = (proposed - log_rho(noise.auxiliary)) - (pair.log_joint - log_rho(pair.auxiliary))
        accepted = noise.log_uniform < log_ratio
        joint = jax.tree.map(
            lambda new, old: jnp.where(accepted, new, old),
            (position, noise.auxiliary, proposed),
            (pair.position, pair.auxiliary, pair.log_joint),
        )
        difference = jnp.maximum(
            jnp.max(jnp.abs(state.position - joint[0])), jnp.max(jnp.abs(state.auxiliary - joint[1]))
        )
        return _Pair(state, *joint), difference

    def record(state: _Pair, difference: Array) -> dict[str, Array]:
        del state
        return {"difference": difference}

    sampler = Sampler(lambda _: Kernel(kernel.init, kernel.draw, apply), initial, record)
    keys = jax.random.split(stream(context.seed, context.study, "identity"), 1)
    samples = sample(sampler, jnp.zeros(1), keys, n_draws=_IDENTITY_STEPS, block_size=_IDENTITY_STEPS)
    return float(samples.draws["difference"].max())


def _illustration(context: RunContext) -> xr.Dataset:
    """One reflective slice update with a rejected proposal, an accepted one and a line that meets the walls."""
    kernel = reflective_slice(_square_log_density, 2)
    current = np.array([0.42, 0.22])
    state = kernel.init(jax.random.key(0), jnp.asarray(current))
    keys = jax.random.split(stream(context.seed, context.study, "illustration"), _ILLUSTRATION_TRIES)
    noises = jax.vmap(kernel.draw)(keys)
    new, info = jax.jit(jax.vmap(lambda noise: kernel.apply(noise, state)))(noises)
    lower = -np.asarray(noises.bracket_uniform)
    rejected = lower + np.asarray(noises.offset_uniform)
    direction = np.asarray(noises.direction)
    ends = current + np.stack([lower, lower + 1.0])[:, :, None] * direction
    n_outside = ((ends < 0.0) | (ends > 1.0)).sum(axis=(0, 2))
    height = np.asarray(info.log_height)
    level = float(state.log_density)
    apart = np.abs(np.asarray(info.offset) - rejected) * np.linalg.norm(direction, axis=1)
    reached = current + np.asarray(info.offset)[:, None] * direction
    past_wall = ((reached < -0.15) | (reached > 1.15)).any(axis=1)
    good = (np.asarray(info.n_evaluations) == 2) & past_wall & (n_outside >= 2) & (apart > 0.3)
    good &= (
        (np.linalg.norm(ends[1] - ends[0], axis=-1) < 2.2) & (height > level - 2.5) & (height < level - 0.5)
    )
    chosen = int(np.argmax(good))
    offsets = np.linspace(lower[chosen], lower[chosen] + 1.0, _PATH_POINTS)
    path = np.asarray(reflect(jnp.asarray(current + offsets[:, None] * direction[chosen])))
    proposed = np.asarray(reflect(jnp.asarray(current + rejected[chosen] * direction[chosen])))
    marks = np.stack([current, proposed, np.asarray(new.position)[chosen]])
    side = np.linspace(0.0, 1.0, _GRID_SIDE)
    grid = jnp.asarray(np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1))
    on_slice = jax.vmap(jax.vmap(_square_log_density))(grid) - height[chosen]
    return xr.Dataset(
        {
            "reflective_log_density_above_slice": (
                ("grid_1", "grid_2"),
                np.asarray(on_slice),
                {"units": "nats"},
            ),
            "reflective_path_1": (("offset",), path[:, 0]),
            "reflective_path_2": (("offset",), path[:, 1]),
            "reflective_mark_1": (("mark",), marks[:, 0]),
            "reflective_mark_2": (("mark",), marks[:, 1]),
        },
        coords={
            "grid_1": side,
            "grid_2": side,
            "offset": offsets,
            "mark": ["current", "rejected", "accepted"],
        },
    )
