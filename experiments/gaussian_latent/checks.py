"""What needs no long chains: noise of the log estimate, PM MH on the joint space, constants of the theory."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import optimize, stats

from auxmc.driver.blocks import Sampler, run_sampler
from auxmc.driver.chains import RunContext
from auxmc.driver.seeds import stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.pseudo_marginal.updates import PseudoMarginalState, pseudo_marginal_metropolis
from auxmc.models.estimator import Estimator
from auxmc.numerics.array_types import FloatArray
from experiments.gaussian_latent.illustration import reflective_update
from experiments.gaussian_latent.problem import Problem

_N_BINS = 80
_IDENTITY_STEPS = 500
_IDENTITY_STEP_SIZE = 0.4


class TheoryConstants(NamedTuple):
    """Optima of high-dimensional theory, each found by numerical maximisation of its efficiency.

    Attributes:
        random_walk_acceptance: acceptance rate of the best random-walk Metropolis step.
        pseudo_marginal_acceptance: that of pseudo-marginal random-walk Metropolis at the joint optimum of step size
            and noise, the cost of an estimate being inversely proportional to the variance of its log.
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
    (Pitt and others, 2012), and the limit in which the noise divides the acceptance rate by 1/(2 Phi(-sd/sqrt(2))).
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
    context: RunContext, points: Mapping[str, Problem], sizes: Sequence[int], n_draws: int
) -> dict[str, xr.Dataset]:
    """Standard deviation and histogram of the log estimate at fixed x over fresh auxiliary variables.

    Args:
        context: random streams.
        points: problem of each data set, with x at its reference.
        sizes: numbers of importance samples.
        n_draws: estimates of each.

    Returns:
        Statistics `sd_log_estimate` and its standard error, curves of the density of the log estimate about its
        mean, dims (dataset, n_importance[, bin_log_estimate]), in nats; and the exact numbers of each data set.
    """
    edges = np.linspace(-20.0, 20.0, _N_BINS + 1)
    shape = (len(points), len(sizes))
    sd, error = np.empty(shape), np.empty(shape)
    density = np.empty((*shape, _N_BINS))
    for i, (label, problem) in enumerate(points.items()):
        for j, size in enumerate(sizes):
            keys = jax.random.split(stream(context.seed, context.study, label, "estimator", size), n_draws)
            values = np.asarray(_log_estimates(problem.estimator(size, True), keys, problem.reference))
            deviations = values - values.mean()
            sd[i, j] = values.std(ddof=1)
            # Delta method, which holds for the skew distribution of a log estimate too.
            error[i, j] = np.square(deviations).std(ddof=1) / (2.0 * sd[i, j] * math.sqrt(n_draws))
            density[i, j] = np.histogram(deviations, edges)[0] / (n_draws * np.diff(edges))
    dims = ("dataset", "n_importance")
    coords = {"dataset": list(points), "n_importance": list(sizes)}
    nats = {"units": "nats"}
    variables = {"sd_log_estimate": (dims, sd, nats), "sd_log_estimate_error": (dims, error, nats)}
    centres = 0.5 * (edges[1:] + edges[:-1])
    curves = {"density_log_estimate": ((*dims, "bin_log_estimate"), density, {"units": "1/nats"})}
    return {
        "statistics": xr.Dataset(variables | _exact_numbers(points), coords=coords),
        "curves": xr.Dataset(curves, coords=coords | {"bin_log_estimate": centres}),
    }


def exactness_checks(context: RunContext, problem: Problem) -> dict[str, xr.Dataset]:
    """Statistics (PM MH is MH on (x, u); constants of the theory) and curves (a reflective slice update)."""
    constants = {f"theory_{name}": value for name, value in theory_constants()._asdict().items()}
    difference = identity_difference(context, problem.estimator(1, True), problem.dim)
    statistics = xr.Dataset({"identity_largest_difference": difference, **constants})
    return {"statistics": statistics, "curves": reflective_update(context)}


def _exact_numbers(points: Mapping[str, Problem]) -> dict[str, Any]:
    known = [problem.known.numbers() for problem in points.values() if problem.known.numbers is not None]
    if len(known) < len(points):
        return {}
    return {name: ("dataset", [numbers[name] for numbers in known], {"units": ""}) for name in known[0]}


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


def _log_estimates(estimate: Estimator, keys: Array, position: FloatArray) -> Array:
    """Log estimates at a position, one for each key [draw]."""

    def draw_all(keys: Array, position: Array) -> Array:
        cache = estimate.prepare(position)
        # A few at a time: all auxiliary variables of many draws would not fit into memory.
        return jax.lax.map(
            lambda key: estimate.log_estimate(cache, estimate.draw_auxiliary(key)), keys, batch_size=64
        )

    found: Array = jax.jit(draw_all)(keys, jnp.asarray(position))
    return found


class _Pair(NamedTuple):
    """PM MH and MH on the joint space, driven by the same random numbers."""

    pseudo_marginal: PseudoMarginalState
    position: Array
    auxiliary: Array
    log_joint: Array


def identity_difference(context: RunContext, estimate: Estimator, dim: int) -> float:
    """Largest difference between the states of PM MH and of Metropolis-Hastings on (x, u), along one chain.

    The second evaluates the full joint density estimate(x, u) rho(u) and the full proposal density, in which u* ~ rho,
    and so does not assume that rho cancels.
    """
    kernel = pseudo_marginal_metropolis(estimate, _IDENTITY_STEP_SIZE, dim)

    def log_rho(auxiliary: Array) -> Array:
        return -0.5 * jnp.sum(jnp.square(auxiliary)) - 0.5 * auxiliary.size * math.log(2.0 * math.pi)

    def log_joint(position: Array, auxiliary: Array) -> Array:
        return estimate.log_estimate(estimate.prepare(position), auxiliary) + log_rho(auxiliary)

    def initial(key: Array, parameters: Array) -> _Pair:
        del parameters
        state = kernel.init(jnp.zeros(dim), key=key)
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
    samples = run_sampler(sampler, jnp.zeros(1), keys, n_draws=_IDENTITY_STEPS, block_size=_IDENTITY_STEPS)
    return float(samples.draws["difference"].max())
