"""Draws of problems with known posteriors, beside exact draws: is each right, or warned of?

sbibm's two moons and SLCP, alone and with jumps to mirror images, SLCP's likelihood by `auxmc.evidence`, Gaussian
linear and Gaussian mixture, and a density of two modes; 8 chains of 2000 draws beside 2000 exact ones. Exact draws
come from closed forms; for SLCP, whose means are normal given the other three parameters, from weighted draws of the
prior of those. The largest z of the means and of the variances is with the draws' own Monte Carlo errors; a classifier
by nearest neighbours that cannot tell draws from exact ones is right in half of the cases.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import stats
from scipy.spatial import cKDTree

import auxmc
from auxmc.diagnostics.convergence import bulk_ess, rank_r_hat
from benchmarks.contract import Benchmark, Program

__all__ = ["BENCHMARK"]

_SLCP = np.array([[0.7, -2.9], [1.1, -2.2], [-0.4, -3.4], [0.9, -2.6]])
_N_COMPARED = 2000
_NEIGHBOURS = 15
_ROOT = math.sqrt(2.0)
MEANS, VARIANCES, CLASSIFIER = "largest z of means", "of variances", "classifier right"
R_HAT, WARNINGS = "R-hat", "warnings"


class Found(NamedTuple):
    """Draws [chain, draw, dim] of a posterior, exact ones [draw, dim], and what was warned of."""

    draws: np.ndarray
    exact: np.ndarray
    warnings: list[str]


def two_moons(random: np.random.Generator) -> Found:
    """Two crescents, mirror images of each other."""
    model, exact = _two_moons(random)
    return _sampled(auxmc.constrained_hmc(model), "theta", exact, random)


def two_moons_jumps(random: np.random.Generator) -> Found:
    """The same, with jumps from each crescent to the other."""
    model, exact = _two_moons(random)
    method = auxmc.with_symmetry(auxmc.constrained_hmc(model), lambda v: v | {"theta": -v["theta"][::-1]})
    return _sampled(method, "theta", exact, random)


def _two_moons(random: np.random.Generator) -> tuple[Any, np.ndarray]:

    def generate(inputs: dict[str, Array]) -> Array:
        angle, radius, theta = inputs["angle"], inputs["radius"], inputs["theta"]
        moon = jnp.stack([radius * jnp.cos(angle) + 0.25, radius * jnp.sin(angle)])
        return moon + jnp.stack([-jnp.abs(theta[0] + theta[1]), theta[1] - theta[0]]) / _ROOT

    model = auxmc.simulator(
        generate,
        observed=jnp.zeros(2),
        inputs={
            "theta": auxmc.prior.uniform(2, -1.0, 1.0),
            "angle": auxmc.prior.uniform((), -math.pi / 2, math.pi / 2),
            "radius": auxmc.prior.normal((), 0.1, 0.01),
        },
    )
    n = _N_COMPARED
    angle, radius = random.uniform(-math.pi / 2, math.pi / 2, n), random.normal(0.1, 0.01, n)
    total = random.choice([-1.0, 1.0], n) * _ROOT * (radius * np.cos(angle) + 0.25)
    difference = _ROOT * radius * np.sin(angle)
    return model, np.column_stack([total + difference, total - difference]) / 2.0


def slcp(random: np.random.Generator) -> Found:
    """Four modes: the signs of two parameters do not matter."""
    return _sampled(auxmc.constrained_hmc(_slcp()), "theta", _exact_slcp(random), random)


def slcp_jumps(random: np.random.Generator) -> Found:
    """The same, with jumps that change a sign."""
    flips = [lambda v, i=i: v | {"theta": v["theta"].at[i].multiply(-1.0)} for i in (2, 3)]
    method = auxmc.with_symmetry(auxmc.constrained_hmc(_slcp()), flips)
    return _sampled(method, "theta", _exact_slcp(random), random)


def slcp_likelihood(random: np.random.Generator) -> Found:
    """The same by its likelihood, which most simulators have not; the bounded parameters are 3 tanh of real ones."""

    def log_density(v: dict[str, Array]) -> Array:
        theta = 3.0 * jnp.tanh(v["w"])
        first, second, correlation = theta[2] ** 2, theta[3] ** 2, jnp.tanh(theta[4])
        across = jnp.sqrt(1.0 - correlation**2)
        x = (_SLCP[:, 0] - theta[0]) / first
        y = ((_SLCP[:, 1] - theta[1]) / second - correlation * x) / across
        of_data = -0.5 * jnp.sum(x**2 + y**2) - 4.0 * jnp.log(first * second * across)
        return of_data - 2.0 * jnp.sum(jnp.log(jnp.cosh(v["w"])))

    start, seed = {"w": np.array([0.1, -0.5, 0.3, 0.3, 0.1])}, int(random.integers(2**31))
    found = auxmc.evidence(log_density, start, seed=seed, progress=False)
    return Found(3.0 * np.tanh(_array(found.posterior, "w")), _exact_slcp(random), list(found.warnings))


def _slcp() -> Any:

    def generate(inputs: dict[str, Array]) -> Array:
        theta, noise = inputs["theta"], inputs["noise"]
        first, second, correlation = theta[2] ** 2, theta[3] ** 2, jnp.tanh(theta[4])
        x = theta[0] + first * noise[:, 0]
        across = jnp.sqrt(1.0 - correlation**2)
        y = theta[1] + second * (correlation * noise[:, 0] + across * noise[:, 1])
        return jnp.stack([x, y], axis=1)

    return auxmc.simulator(
        generate,
        observed=_SLCP,
        inputs={"theta": auxmc.prior.uniform(5, -3.0, 3.0), "noise": auxmc.prior.normal((4, 2))},
    )


def _exact_slcp(random: np.random.Generator) -> np.ndarray:
    """Draws of the posterior [draw, 5], chosen from the prior of three parameters by their weights."""
    rest = random.uniform(-3.0, 3.0, (1_000_000, 3))
    first, second, correlation = rest[:, 0] ** 2, rest[:, 1] ** 2, np.tanh(rest[:, 2])
    across = np.sqrt(1.0 - correlation**2)
    # The data's deviations from their mean, and their mean, are independent: the means are normal around the latter.
    centre, deviations = _SLCP.mean(axis=0), _SLCP - _SLCP.mean(axis=0)
    x = deviations[:, 0] / first[:, None]
    y = (deviations[:, 1] / second[:, None] - correlation[:, None] * x) / across[:, None]
    log_weights = -0.5 * np.sum(x**2 + y**2, axis=1) - 3.0 * np.log(first * second * across)
    normal = random.normal(size=(len(rest), 2)) / 2.0
    means = centre + np.column_stack(
        [first * normal[:, 0], second * (correlation * normal[:, 0] + across * normal[:, 1])]
    )
    weights = np.exp(log_weights - log_weights.max()) * np.all(np.abs(means) < 3.0, axis=1)
    chosen = random.choice(len(rest), _N_COMPARED, p=weights / weights.sum())
    return np.column_stack([means, rest])[chosen]


def gaussian_linear(random: np.random.Generator) -> Found:
    """Ten parameters, each seen once with noise."""
    data = random.normal(size=10)
    model = auxmc.simulator(
        lambda inputs: inputs["theta"] + inputs["noise"],
        observed=data,
        inputs={
            "theta": auxmc.prior.normal(10, 0.0, math.sqrt(0.1)),
            "noise": auxmc.prior.normal(10, 0.0, math.sqrt(0.1)),
        },
    )
    exact = data / 2.0 + math.sqrt(0.05) * random.normal(size=(_N_COMPARED, 10))
    return _sampled(auxmc.constrained_hmc(model), "theta", exact, random)


def gaussian_mixture(random: np.random.Generator) -> Found:
    """One point from two normal laws around the same mean, standard deviations 1 and 0.1."""
    point = np.array([1.0, -2.0])

    def log_density(v: dict[str, Array]) -> Array:
        square = jnp.sum((v["theta"] - point) ** 2)
        return jnp.logaddexp(-0.5 * square, -50.0 * square + math.log(100.0))

    method = auxmc.hmc(auxmc.density(log_density, {"theta": np.zeros(2)}))
    scales = random.choice([1.0, 0.1], _N_COMPARED)
    exact = point + scales[:, None] * random.normal(size=(_N_COMPARED, 2))
    return _sampled(method, "theta", exact, random)


def two_modes(random: np.random.Generator) -> Found:
    """Modes of 30 and 70 % of the mass, 10 apart, in three dimensions."""
    centres, shares = np.array([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]]), np.array([0.3, 0.7])

    def log_density(v: dict[str, Array]) -> Array:
        squares = jnp.sum((v["x"][None] - centres) ** 2, axis=1)
        return jax.nn.logsumexp(-2.0 * squares + jnp.log(shares))

    seed = int(random.integers(2**31))
    found = auxmc.evidence(log_density, {"x": np.zeros(3)}, seed=seed, progress=False)
    exact = centres[random.choice(2, _N_COMPARED, p=shares)] + 0.5 * random.normal(size=(_N_COMPARED, 3))
    return Found(_array(found.posterior, "x"), exact, list(found.warnings))


def _sampled(method: Any, name: str, exact: np.ndarray, random: np.random.Generator) -> Found:
    seed = int(random.integers(2**31))
    tree = auxmc.sample(method, draws=2000, warm_up=500, chains=8, seed=seed, progress=False)
    return Found(_array(tree, name), exact, list(tree.attrs["warnings"]))


def _array(tree: xr.DataTree, name: str) -> np.ndarray:
    array = tree["posterior"][name].to_numpy()
    return array.reshape(*array.shape[:2], -1)


def largest_z(found: Found) -> tuple[float, float]:
    """Largest z of means and of variances."""
    scores = []
    for power in (1, 2):
        centre = found.exact.mean(axis=0)
        values, exact = (found.draws - centre) ** power, (found.exact - centre) ** power
        size = np.maximum(np.asarray(bulk_ess(np.moveaxis(values, -1, 0))), 1.0)
        error = np.sqrt(values.var(axis=(0, 1)) / size + exact.var(axis=0) / len(exact))
        scores.append(float(np.max(np.abs(values.mean(axis=(0, 1)) - exact.mean(axis=0)) / error)))
    return scores[0], scores[1]


def told_apart(found: Found) -> float:
    """Share of points that their nearest neighbours, the point itself left out, class rightly."""
    flat = found.draws.reshape(-1, found.draws.shape[-1])
    chosen = flat[np.linspace(0, len(flat) - 1, _N_COMPARED).astype(int)]
    points = np.concatenate([chosen, found.exact])
    ranks = stats.rankdata(points, axis=0) / len(points)
    labels = np.repeat([0, 1], _N_COMPARED)
    near = cKDTree(ranks).query(ranks, _NEIGHBOURS + 1)[1][:, 1:]
    # A point's own class is one fewer among its neighbours: in balance, each is missing once.
    votes = labels[near].mean(axis=1)
    return float(np.mean((votes > 0.5) == labels))


# By problem and method.
PROBLEMS: dict[tuple[str, str], Callable[[np.random.Generator], Found]] = {
    ("two moons", "constrained HMC"): two_moons,
    ("two moons", "constrained HMC with jumps to the mirror image"): two_moons_jumps,
    ("SLCP, four modes", "constrained HMC"): slcp,
    ("SLCP, four modes", "constrained HMC with jumps to mirror images"): slcp_jumps,
    ("SLCP, its likelihood given", "auxmc.evidence"): slcp_likelihood,
    ("Gaussian linear, 10 parameters", "constrained HMC"): gaussian_linear,
    ("Gaussian mixture, scales 1 and 0.1", "HMC"): gaussian_mixture,
    ("two modes of 30 and 70 %", "auxmc.evidence"): two_modes,
}


def _programs(problem: str, quick: bool) -> Sequence[Program]:
    def prepare(draw: Callable[[np.random.Generator], Found]) -> Callable[[int], dict[str, float]]:
        def run(seed: int) -> dict[str, float]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", auxmc.SamplingWarning)
                found = draw(np.random.default_rng(seed))
            means, variances = largest_z(found)
            r_hat = float(np.max(rank_r_hat(np.moveaxis(found.draws, -1, 0))))
            apart = {MEANS: means, VARIANCES: variances, CLASSIFIER: told_apart(found)}
            return apart | {R_HAT: r_hat, WARNINGS: len(found.warnings)}

        return run

    own = {method: draw for (name, method), draw in PROBLEMS.items() if name == problem}
    return [Program(method, partial(prepare, draw)) for method, draw in own.items()]


BENCHMARK = Benchmark(
    problems={name: partial(_programs, name) for name, _ in PROBLEMS},
    units=dict.fromkeys([MEANS, VARIANCES, CLASSIFIER, R_HAT, WARNINGS], ""),
    quick=["Gaussian linear, 10 parameters"],
    ratios=False,
    timed=False,
    page="docs/library/methods.md",
)
