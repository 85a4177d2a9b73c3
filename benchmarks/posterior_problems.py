"""Problems with exact posterior draws: sbibm's, an estimated likelihood, densities whose evidence is known.

Exact draws come from closed forms; for SLCP, whose means are normal given the other three parameters, by rejection from
the prior of those.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

import auxmc
from benchmarks.library_comparison import two_moons_model

_SLCP = np.array([[0.7, -2.9], [1.1, -2.2], [-0.4, -3.4], [0.9, -2.6]])
N_EXACT = 2000
_ROOT = math.sqrt(2.0)


class Found(NamedTuple):
    """What is compared."""

    draws: np.ndarray  # of a posterior [chain, draw, dim]
    exact: np.ndarray  # draws of it [draw, dim]
    warnings: list[str]  # that came with the former
    # Estimate, standard error and exact value, in nats, where there is an estimate.
    log_evidence: tuple[float, float, float] | None = None


Draw = Callable[[np.random.Generator], Found]


def two_moons(random: np.random.Generator) -> Found:
    """Two crescents, mirror images of each other."""
    return sampled(auxmc.constrained_hmc(two_moons_model()), "theta", _exact_two_moons(random), random)


def two_moons_jumps(random: np.random.Generator) -> Found:
    """The same, with jumps from each crescent to the other."""
    method = auxmc.constrained_hmc(two_moons_model())
    mirrored = auxmc.with_symmetry(method, lambda v: v | {"theta": -v["theta"][::-1]})
    return sampled(mirrored, "theta", _exact_two_moons(random), random)


def _exact_two_moons(random: np.random.Generator) -> np.ndarray:
    """Independent draws of the posterior [draw, 2]: of the latent angle and radius, then of the crescent."""
    n = N_EXACT
    angle, radius = random.uniform(-math.pi / 2, math.pi / 2, n), random.normal(0.1, 0.01, n)
    total = random.choice([-1.0, 1.0], n) * _ROOT * (radius * np.cos(angle) + 0.25)
    difference = _ROOT * radius * np.sin(angle)
    return np.column_stack([total + difference, total - difference]) / 2.0


def slcp(random: np.random.Generator) -> Found:
    """Four modes: the signs of two parameters do not matter."""
    return sampled(auxmc.constrained_hmc(slcp_model()), "theta", _exact_slcp(random)[0], random)


def slcp_jumps(random: np.random.Generator) -> Found:
    """The same, with jumps that change a sign."""
    flips = [lambda v, i=i: v | {"theta": v["theta"].at[i].multiply(-1.0)} for i in (2, 3)]
    method = auxmc.with_symmetry(auxmc.constrained_hmc(slcp_model()), flips)
    return sampled(method, "theta", _exact_slcp(random)[0], random)


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
    draws = 3.0 * np.tanh(as_array(found.posterior, "w"))
    exact, log_integral = _exact_slcp(random)
    # The derivative of each parameter by its real number has a factor of 3 that the density leaves out.
    return tempered(found, draws, exact, log_integral - 5.0 * math.log(3.0))


def slcp_model() -> Any:
    """sbibm's SLCP: four normal points whose mean and covariance are nonlinear in five parameters."""

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
        inputs={"theta": auxmc.prior.uniform(5, low=-3.0, high=3.0), "noise": auxmc.prior.normal((4, 2))},
    )


def _exact_slcp(random: np.random.Generator) -> tuple[np.ndarray, float]:
    """Independent draws of the posterior [draw, 5], by rejection, and the log of the likelihood's integral.

    The three parameters of the covariance are drawn from their prior; the largest weight of four million stands for the
    largest that there is. The likelihood is without its factors of 2 pi, the integral good to 0.01 nats.
    """
    rest = random.uniform(-3.0, 3.0, (4_000_000, 3))
    first, second, correlation = rest[:, 0] ** 2, rest[:, 1] ** 2, np.tanh(rest[:, 2])
    across = np.sqrt(1.0 - correlation**2)
    # The data's deviations from their mean, and their mean, are independent: the means are normal around the latter.
    centre, deviations = _SLCP.mean(axis=0), _SLCP - _SLCP.mean(axis=0)
    x = deviations[:, 0] / first[:, None]
    y = (deviations[:, 1] / second[:, None] - correlation[:, None] * x) / across[:, None]
    log_weights = -0.5 * np.sum(x**2 + y**2, axis=1) - 3.0 * np.log(first * second * across)
    x, y = random.normal(size=(len(rest), 2)).T / 2.0
    means = centre + np.column_stack([first * x, second * (correlation * x + across * y)])
    log_weights[np.any(np.abs(means) >= 3.0, axis=1)] = -np.inf
    largest = log_weights.max()
    kept = np.log(random.random(len(rest))) < log_weights - largest
    mean_weight = np.mean(np.exp(log_weights - largest))
    # Volume of the prior's cube, and of the means' normal density of four data.
    log_integral = float(np.log(mean_weight) + largest + math.log(6.0**3 * 2.0 * math.pi / 4.0))
    return np.column_stack([means, rest])[kept][:N_EXACT], log_integral


def gaussian_linear(random: np.random.Generator) -> Found:
    """Ten parameters, each seen once with noise."""
    data, sd = random.normal(size=10), math.sqrt(0.1)
    exact = data / 2.0 + math.sqrt(0.05) * random.normal(size=(N_EXACT, 10))
    return sampled(linear_method(data, auxmc.prior.normal(10, sd=sd)), "theta", exact, random)


def linear_method(data: np.ndarray, prior: Any) -> Any:
    """Constrained HMC of ten parameters, each seen once with noise of variance 0.1."""
    inputs = {"theta": prior, "noise": auxmc.prior.normal(10, sd=math.sqrt(0.1))}
    return auxmc.constrained_hmc(auxmc.simulator(lambda v: v["theta"] + v["noise"], data, inputs))


def gaussian_mixture(random: np.random.Generator) -> Found:
    """One point from two normal distributions around the same mean, standard deviations 1 and 0.1."""
    point = np.array([1.0, -2.0])

    def log_density(v: dict[str, Array]) -> Array:
        square = jnp.sum((v["theta"] - point) ** 2)
        return jnp.logaddexp(-0.5 * square, -50.0 * square + math.log(100.0))

    method = auxmc.hmc(auxmc.density(log_density, {"theta": np.zeros(2)}))
    scales = random.choice([1.0, 0.1], N_EXACT)
    exact = point + scales[:, None] * random.normal(size=(N_EXACT, 2))
    return sampled(method, "theta", exact, random)


def two_modes(random: np.random.Generator) -> Found:
    """Modes of 30 and 70 % of the mass, 10 apart, in three dimensions."""
    centres, fractions = np.array([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]]), np.array([0.3, 0.7])

    def log_density(v: dict[str, Array]) -> Array:
        squares = jnp.sum((v["x"][None] - centres) ** 2, axis=1)
        return jax.nn.logsumexp(-2.0 * squares + jnp.log(fractions))

    seed = int(random.integers(2**31))
    found = auxmc.evidence(log_density, {"x": np.zeros(3)}, seed=seed, progress=False)
    exact = centres[random.choice(2, N_EXACT, p=fractions)] + 0.5 * random.normal(size=(N_EXACT, 3))
    return tempered(found, as_array(found.posterior, "x"), exact, 1.5 * math.log(0.5 * math.pi))


def tempered(found: Any, draws: np.ndarray, exact: np.ndarray, log_evidence: float) -> Found:
    """What is compared of a result of `auxmc.evidence`."""
    own = found.log_evidence, found.standard_error, log_evidence
    return Found(draws, exact, list(found.warnings), own)


def sampled(method: Any, name: str, exact: np.ndarray, random: np.random.Generator) -> Found:
    """What is compared of 8 chains of 2000 draws of a variable."""
    seed = int(random.integers(2**31))
    tree = auxmc.sample(method, draws=2000, warm_up=500, chains=8, seed=seed, progress=False)
    return Found(as_array(tree, name), exact, list(tree.attrs["warnings"]))


def as_array(tree: xr.DataTree, name: str) -> np.ndarray:
    """Draws of a variable as vectors [chain, draw, dim]."""
    array = tree["posterior"][name].to_numpy()
    return array.reshape(*array.shape[:2], -1)
