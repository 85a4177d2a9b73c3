"""Claims on stochastic-gradient dynamics on N(0, 1): what they sample instead, and what their noise must be."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from scipy import linalg

from auxmc.kernels.hamiltonian.langevin import LangevinNoise, unadjusted_langevin
from auxmc.kernels.streams.stochastic_gradient import sghmc_step, sgld_step
from auxmc.kernels.streams.stochastic_gradient_chain import ChainNoise, ChainState, stochastic_gradient_chain
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.error_rules import distance_from_exact
from experiments.foundations.measurements import normal_points
from experiments.foundations.topic import Found, Lines, Topic, Work

TOPIC = Topic()


class _Dynamics(NamedTuple):
    """Settings of a run on N(0, 1) whose gradient x has noise of variance V added."""

    step: float
    variance: float
    correction: float
    friction: float

    @property
    def name(self) -> str:
        noise = f"step {self.step:g}, gradient noise {self.variance:g}"
        return noise + (f", estimate {self.correction:g}" if self.variance else "")


_LANGEVIN = (
    _Dynamics(0.1, 0.0, 0.0, 1.0),
    _Dynamics(0.1, 4.0, 0.0, 1.0),
    _Dynamics(0.1, 4.0, 2.0, 1.0),
    _Dynamics(0.1, 4.0, 4.0, 1.0),
)
_HAMILTONIAN = (
    _Dynamics(0.01, 0.0, 0.0, 0.1),
    _Dynamics(0.1, 0.0, 0.0, 0.1),
    _Dynamics(0.01, 10.0, 0.0, 0.1),
    _Dynamics(0.01, 10.0, 5.0, 0.1),
)
_WITHOUT_FRICTION = _Dynamics(0.01, 10.0, 0.0, 0.0)
_HEATING_TIMES = (1000, 2000, 4000)


@TOPIC.claim("FN-SG-01")
def langevin_variances(work: Work) -> Lines:
    """Stationary variances of SGLD, from its linear recursion and from runs that start in them."""
    variances = [float(_stationary(dynamics)[0, 0]) for dynamics in _LANGEVIN]
    quiet, _, half, whole = variances
    found: Found = {dynamics.name: value for dynamics, value in zip(_LANGEVIN, variances, strict=True)}
    found["as printed: estimate the variance, less that without gradient noise"] = whole - quiet
    found["corrected: estimate half the variance, less that without gradient noise"] = half - quiet
    for dynamics in (_LANGEVIN[0], _LANGEVIN[2]):
        position, _ = _ends(work, dynamics, "langevin")
        away = distance_from_exact(np.square(position), _stationary(dynamics)[0, 0])
        found[f"{dynamics.name}, simulated, distance in standard errors"] = away
    return found


@TOPIC.claim("FN-SG-02")
def hamiltonian_variances(work: Work) -> Lines:
    """The same for SGHMC with decay 0.1, position and velocity."""
    found: Found = {f"position, {dynamics.name}": _stationary(dynamics)[0, 0] for dynamics in _HAMILTONIAN}
    quiet = _HAMILTONIAN[0]
    covariance = _stationary(quiet)
    found[f"velocity, {quiet.name}"] = covariance[1, 1]
    ends = zip(("position", "velocity"), _ends(work, quiet, "hamiltonian"), np.diag(covariance), strict=True)
    for name, values, variance in ends:
        away = distance_from_exact(np.square(values), float(variance))
        found[f"{name}, {quiet.name}, simulated, distance in standard errors"] = away
    return found


@TOPIC.claim("FN-SG-03")
def same_paths(work: Work) -> Lines:
    """SGHMC with decay 1 and SGLD, the same numbers."""
    normals, noises = jnp.split(jnp.asarray(normal_points(1000, 4)), 2, axis=1)
    step, still = 0.05, jnp.zeros(2)

    @functools.partial(jax.jit, static_argnums=0)
    def walk(move: Callable[[Array, Array, Array], Array]) -> Array:
        def advance(position: Array, numbers: tuple[Array, Array]) -> tuple[Array, Array]:
            normal, noise = numbers
            position = move(position, position**3 + noise, normal)
            return position, position

        return jax.lax.scan(advance, jnp.array([1.0, -0.5]), (normals, noises))[1]

    first = walk(lambda x, gradient, normal: sgld_step(x, gradient, normal, step, 0.4))
    second = walk(lambda x, gradient, normal: sghmc_step(x, still, gradient, normal, step, 1.0, 0.4)[0])
    return {"1000 steps": jnp.max(jnp.abs(first - second))}


@TOPIC.claim("FN-SG-04")
def same_steps(work: Work) -> Lines:
    """A Langevin step of size epsilon is one of SGLD with eta = epsilon^2 / 2."""
    size = 0.3
    start, normal = jnp.asarray(normal_points(2, 3))
    kernel = unadjusted_langevin(lambda x: -jnp.sum(0.25 * x**4), size, 3)
    numbers = LangevinNoise(normal, jnp.zeros(()))
    moved, _ = jax.jit(lambda x: kernel.apply(numbers, kernel.init(jax.random.key(0), x)))(start)
    other = sgld_step(start, start**3, normal, 0.5 * size**2)
    return {"one step": jnp.max(jnp.abs(moved.position - other))}


@TOPIC.claim("FN-SG-05")
def heating(work: Work) -> Lines:
    """Without friction the variance grows for ever; by its recursion and by runs."""
    move, noise = _linear(_WITHOUT_FRICTION)
    covariance = np.diag([1.0, _WITHOUT_FRICTION.step])
    variances = [1.0]
    for _ in range(max(_HEATING_TIMES)):
        covariance = move @ covariance @ move.T + noise
        variances.append(float(covariance[0, 0]))
    found = {f"after {time} steps": variances[time] for time in _HEATING_TIMES}
    n_steps = _HEATING_TIMES[0]
    position, _ = _ends(work, _WITHOUT_FRICTION, "heating", n_full=4000, n_steps=n_steps)
    away = distance_from_exact(np.square(position), variances[n_steps])
    return {**found, f"after {n_steps} steps, simulated, distance in standard errors": away}


@TOPIC.claim("FN-SG-06")
def noise_in_the_loss(work: Work) -> Lines:
    """Noise as a term x . zeta of the loss that plain gradient descent follows."""
    eta = 0.02
    start, normal = jnp.asarray(normal_points(2, 3))
    noise = math.sqrt(2.0 * eta) * normal
    wanted = sgld_step(start, start**3, normal, eta)

    def error(zeta: Array) -> float:
        optimiser = optax.sgd(eta)
        gradient = jax.grad(lambda x: jnp.sum(0.25 * x**4) + x @ zeta)(start)
        updates, _ = optimiser.update(gradient, optimiser.init(start))
        moved = optax.apply_updates(start, updates)
        # The term's sign is that of its slope: gradient descent subtracts it.
        return float(jnp.max(jnp.abs(moved - wanted)))

    return {"noise divided by eta": error(-noise / eta), "noise as printed": error(-noise)}


def _linear(dynamics: _Dynamics) -> tuple[FloatArray, FloatArray]:
    """Matrix of a step on (position, velocity) and covariance of the noise that it adds.

    A step is linear in position, velocity, injected and gradient noise: it is made from each unit vector of them.
    """
    position, velocity, normal, noise = jnp.eye(4)
    gradient = position + math.sqrt(dynamics.variance) * noise
    sizes = (dynamics.step, dynamics.friction, dynamics.correction)
    columns = np.array(sghmc_step(position, velocity, gradient, normal, *sizes))
    return columns[:, :2], columns[:, 2:] @ columns[:, 2:].T


def _stationary(dynamics: _Dynamics) -> FloatArray:
    """Stationary covariance of (position, velocity): the solution of S = M S M^T + Q."""
    return np.asarray(linalg.solve_discrete_lyapunov(*_linear(dynamics)))


def _ends(
    work: Work, dynamics: _Dynamics, name: str, n_full: int = 50_000, n_steps: int = 20
) -> tuple[FloatArray, FloatArray]:
    """Positions and velocities of independent runs after some steps, from the exact law where there is one."""
    n, rng = work.replicates(n_full, 1000), work.rng(name, dynamics.name)
    start = np.diag([1.0, dynamics.step]) if dynamics.friction == 0.0 else _stationary(dynamics)
    starts = jnp.asarray(rng.multivariate_normal(np.zeros(2), start, n))
    noise = ChainNoise(*jnp.asarray(rng.normal(size=(2, n_steps, n, 1))))
    ends = _runs(jnp.asarray(dynamics), ChainState(starts[:, :1], starts[:, 1:]), noise)
    return np.asarray(ends.position)[:, 0], np.asarray(ends.velocity)[:, 0]


@jax.jit
def _runs(dynamics: Array, starts: ChainState, noise: ChainNoise) -> ChainState:
    step, variance, correction, friction = dynamics
    kernel = stochastic_gradient_chain(
        lambda x, noise: x + jnp.sqrt(variance) * noise,
        lambda key: jax.random.normal(key, (1,)),
        step,
        friction,
        1,
        correction,
    )

    def advance(states: ChainState, noise: ChainNoise) -> tuple[ChainState, None]:
        return jax.vmap(kernel.apply)(noise, states)[0], None

    return jax.lax.scan(advance, starts, noise)[0]
