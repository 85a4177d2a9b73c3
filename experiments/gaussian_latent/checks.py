"""What needs no long chains: noise of the log estimate, PM MH on the joint space, theory, figure 3.2."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import optimize, stats

from auxmc.driver.seeds import stream
from auxmc.kernels.pseudo_marginal.updates import PseudoMarginalState, pseudo_marginal_metropolis
from auxmc.kernels.slices.reflective_slice import reflect, reflective_slice
from auxmc.models.estimator import Estimator
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext
from experiments.gaussian_latent.problem import Problem

_N_BINS = 80
_IDENTITY_STEPS = 500
_IDENTITY_STEP_SIZE = 0.4
_TRIES, _GRID_SIDE, _PATH_POINTS = 5000, 61, 401  # Of figure 3.2: updates, points of axes and line
_Joint = tuple[Array, Array, Array]  # Position, auxiliary variables, log joint density


def theory_constants() -> dict[str, float]:
    """Optima behind the rules of thumb of the thesis, by numerical maximisation.

    `random_walk_acceptance` is the acceptance rate of random-walk Metropolis at its best step: the efficiency
    is l^2 a(l) with a(l) = 2 Phi(-l/2) (Roberts, Gelman and Gilks 1997).

    `pseudo_marginal_acceptance` is that rate, and `pseudo_marginal_variance` the variance v of the log
    estimate in nats squared, at the joint optimum of step size and noise. The efficiency is v l^2 a(l, v)
    with a(l, v) = 2 Phi(-sqrt(l^2 + 2 v)/2), as the cost of an estimate is inversely proportional to v
    (Sherlock, Thiery, Roberts and Rosenthal 2015).

    `compromise_sd` is the standard deviation of the log estimate, in nats, that loses least in the worse of
    two extreme cases (Doucet, Pitt, Deligiannidis and Kohn 2015). These are perfect proposals (Pitt and
    others 2012), and the limit in which the noise divides the acceptance rate by 1/(2 Phi(-sd/sqrt(2))).

    Source: PhD thesis, sections 3.2 and 3.4.
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

    def worse(sd: float) -> float:
        return max(cost(sd) / least for cost, least in zip(costs, best, strict=True))

    return {
        "random_walk_acceptance": acceptance(walk, 0.0),
        "pseudo_marginal_acceptance": acceptance(length, variance),
        "pseudo_marginal_variance": variance,
        "compromise_sd": _minimum(worse, 0.3, 4.0),
    }


def estimator_noise(
    context: RunContext, points: Mapping[str, Problem], sizes: Sequence[int], n_draws: int
) -> dict[str, xr.Dataset]:
    """Standard deviation and histogram of the log estimate at fixed x over fresh auxiliary variables.

    Statistics are `sd_log_estimate` and its standard error, and the exact numbers of each data set; curves are the
    density of the log estimate about its mean. Dimensions are (dataset, n_importance[, bin_log_estimate]), units nats.
    """
    edges = np.linspace(-20.0, 20.0, _N_BINS + 1)
    shape = (len(points), len(sizes))
    sd, error = np.empty(shape), np.empty(shape)
    density = np.empty((*shape, _N_BINS))
    for i, (label, problem) in enumerate(points.items()):
        for j, size in enumerate(sizes):
            keys = jax.random.split(stream(context.seed, context.study, label, "estimator", size), n_draws)
            draw = jax.jit(partial(_log_estimates, problem.estimator(size, True)))
            values = np.asarray(draw(keys, jnp.asarray(problem.reference)))
            deviations = values - values.mean()
            sd[i, j] = values.std(ddof=1)
            # Delta method, which holds for the skew distribution of a log estimate too.
            error[i, j] = np.square(deviations).std(ddof=1) / (2.0 * sd[i, j] * math.sqrt(n_draws))
            density[i, j] = np.histogram(deviations, edges)[0] / (n_draws * np.diff(edges))
    dims = ("dataset", "n_importance")
    coords = {"dataset": list(points), "n_importance": list(sizes)}
    nats = {"units": "nats"}
    variables: dict[str, Any] = {
        "sd_log_estimate": (dims, sd, nats),
        "sd_log_estimate_error": (dims, error, nats),
    }
    known = [problem.known.numbers() for problem in points.values() if problem.known.numbers is not None]
    if len(known) == len(points):
        variables |= {name: ("dataset", [each[name] for each in known], {"units": ""}) for name in known[0]}
    centres = 0.5 * (edges[1:] + edges[:-1])
    curves = {"density_log_estimate": ((*dims, "bin_log_estimate"), density, {"units": "1/nats"})}
    return {
        "statistics": xr.Dataset(variables, coords=coords),
        "curves": xr.Dataset(curves, coords=coords | {"bin_log_estimate": centres}),
    }


def exactness_checks(context: RunContext, problem: Problem) -> dict[str, xr.Dataset]:
    """PM MH against MH on (x, u), constants of the theory, and curves of a reflective slice update."""
    constants = {f"theory_{name}": value for name, value in theory_constants().items()}
    difference = identity_difference(context, problem.estimator(1, True), problem.dim)
    statistics = xr.Dataset({"identity_largest_difference": difference, **constants})
    return {"statistics": statistics, "curves": reflective_update(context)}


def _minimum(function: Any, low: float, high: float) -> float:
    found = optimize.minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    return float(found.x)


def _cost_perfect_proposal(sd: float) -> float:
    """Integrated autocorrelation time over noise variance when every proposal of x is an independent exact draw."""
    noise = np.linspace(0.5 * sd**2 - 10.0 * sd, 0.5 * sd**2 + 12.0 * sd, 4001)
    weights = stats.norm.pdf(noise, 0.5 * sd**2, sd)
    below, above = (stats.norm.cdf((sign * noise - 0.5 * sd**2) / sd) for sign in (-1.0, 1.0))
    rate = below + np.exp(-noise) * above
    return float(np.trapezoid(weights * (2.0 / rate - 1.0), noise)) / sd**2


def _cost_slow_proposal(sd: float) -> float:
    return float(1.0 / (2.0 * stats.norm.cdf(-sd / math.sqrt(2.0)))) / sd**2


def _log_estimates(estimate: Estimator, keys: Array, position: Array) -> Array:
    cache = estimate.prepare(position)
    # A few at a time: all auxiliary variables of many draws would not fit into memory.
    return jax.lax.map(
        lambda key: estimate.log_estimate(cache, estimate.draw_auxiliary(key)), keys, batch_size=64
    )


def identity_difference(context: RunContext, estimate: Estimator, dim: int) -> float:
    """Largest difference between the states of PM MH and of MH on (x, u), along one chain.

    The second evaluates the full joint density estimate(x, u) rho(u) and the density of its proposal, with
    u* ~ rho, and so does not assume that rho cancels.
    """
    kernel = pseudo_marginal_metropolis(estimate, _IDENTITY_STEP_SIZE, dim)

    def log_rho(auxiliary: Array) -> Array:
        return -0.5 * jnp.sum(jnp.square(auxiliary)) - 0.5 * auxiliary.size * math.log(2.0 * math.pi)

    def log_joint(position: Array, auxiliary: Array) -> Array:
        return estimate.log_estimate(estimate.prepare(position), auxiliary) + log_rho(auxiliary)

    def step(states: tuple[PseudoMarginalState, _Joint], key: Array) -> tuple[Any, Array]:
        noise, old = kernel.draw(key), states[1]
        state, _ = kernel.apply(noise, states[0])
        position = old[0] + _IDENTITY_STEP_SIZE * noise.move
        proposed = log_joint(position, noise.auxiliary)
        log_ratio = (proposed - log_rho(noise.auxiliary)) - (old[2] - log_rho(old[1]))
        new = (position, noise.auxiliary, proposed)
        joint = jax.tree.map(lambda *both: jnp.where(noise.log_uniform < log_ratio, *both), new, old)
        pairs = ((state.position, joint[0]), (state.auxiliary, joint[1]))
        return (state, joint), jnp.maximum(*(jnp.abs(a - b).max() for a, b in pairs))

    @jax.jit
    def largest(key: Array) -> Array:
        state = kernel.init(jnp.zeros(dim), key=key)
        start = (state, (state.position, state.auxiliary, log_joint(state.position, state.auxiliary)))
        return jax.lax.scan(step, start, jax.random.split(key, _IDENTITY_STEPS))[1].max()

    return float(largest(stream(context.seed, context.study, "identity")))


def reflective_update(context: RunContext) -> xr.Dataset:
    """One reflective slice update with a rejected proposal, an accepted one and a line that meets the walls."""
    kernel = reflective_slice(_square_log_density, 2)
    current = np.array([0.42, 0.22])
    state = kernel.init(jnp.asarray(current), key=jax.random.key(0))
    keys = jax.random.split(stream(context.seed, context.study, "illustration"), _TRIES)
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
    good &= np.linalg.norm(ends[1] - ends[0], axis=-1) < 2.2
    good &= (height > level - 2.5) & (height < level - 0.5)
    chosen = int(np.argmax(good))
    offsets = np.linspace(lower[chosen], lower[chosen] + 1.0, _PATH_POINTS)
    path = np.asarray(reflect(jnp.asarray(current + offsets[:, None] * direction[chosen])))
    proposed = np.asarray(reflect(jnp.asarray(current + rejected[chosen] * direction[chosen])))
    marks = np.stack([current, proposed, np.asarray(new.position)[chosen]])
    side = np.linspace(0.0, 1.0, _GRID_SIDE)
    grid = jnp.asarray(np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1))
    on_slice = jax.vmap(jax.vmap(_square_log_density))(grid) - height[chosen]
    variables: dict[str, Any] = {
        "reflective_log_density_above_slice": (("grid_1", "grid_2"), np.asarray(on_slice), {"units": "nats"})
    }
    for axis in range(2):
        variables[f"reflective_path_{axis + 1}"] = ("offset", path[:, axis])
        variables[f"reflective_mark_{axis + 1}"] = ("mark", marks[:, axis])
    named = ["current", "rejected", "accepted"]
    return xr.Dataset(variables, {"grid_1": side, "grid_2": side, "offset": offsets, "mark": named})


def _square_log_density(point: Array) -> Array:
    """Test density on the unit square, with a ridge that runs into the walls; not normalised, in nats."""
    return 2.0 * jnp.cos(math.pi * point[0]) + 2.5 * jnp.cos(math.pi * (point[0] - point[1]))
