"""Claims on Langevin dynamics: one leapfrog step, the law without an accept step, how rare rejections are."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.kernels.hamiltonian.hmc import HMCNoise, HMCState, hamiltonian_monte_carlo
from auxmc.kernels.hamiltonian.langevin import LangevinNoise, metropolis_langevin, unadjusted_langevin
from auxmc_pipeline.error_rules import distance_from_exact
from experiments.foundations.measurements import normal_points
from experiments.foundations.topic import Found, Lines, Topic, Work

TOPIC = Topic()

_LANGEVIN_STEPS = (0.2, 0.5, 1.0)
_REJECTION_STEPS = (0.1, 0.5, 1.0)
_N_ANGLES = 400_000


@TOPIC.claim("FN-HM-07")
def one_leapfrog_step(work: Work) -> Lines:
    """Hamiltonian Monte Carlo with one step and Metropolis-adjusted Langevin, the same numbers."""
    size, n = 0.7, 500

    def log_density(x: Array) -> Array:
        return -jnp.sum(0.25 * x**4) - 0.3 * x[0] * x[1]

    hamiltonian = hamiltonian_monte_carlo(log_density, size, (1, 1), 2)
    langevin = metropolis_langevin(log_density, size, 2)
    starts, normals = jnp.split(jnp.asarray(normal_points(n, 4)), 2, axis=1)
    always, one = jnp.array(-jnp.inf), jnp.ones((), jnp.int32)

    @jax.jit
    @jax.vmap
    def both(normal: Array, start: Array) -> tuple[Array, Array]:
        end, info = hamiltonian.apply(
            HMCNoise(normal, one, always), hamiltonian.init(jax.random.key(0), start)
        )
        other, other_info = langevin.apply(
            LangevinNoise(normal, always), langevin.init(jax.random.key(0), start)
        )
        return info.energy_change + other_info.log_ratio, jnp.max(jnp.abs(end.position - other.position))

    acceptance, position = both(normals, starts)
    return {"log acceptance": jnp.max(jnp.abs(acceptance)), "proposed position": jnp.max(jnp.abs(position))}


@TOPIC.claim("FN-HM-08")
def unadjusted_distribution(work: Work) -> Lines:
    """Variance of unadjusted Langevin dynamics on N(0, 1), from its linear step and from runs."""
    n, n_steps, rng = work.replicates(50_000, 1000), 10, work.rng("unadjusted")
    sizes = jnp.asarray(_LANGEVIN_STEPS)

    @jax.jit
    def runs(sizes: Array, starts: Array, normals: Array) -> Array:
        def run(size: Array, start: Array, normals: Array) -> Array:
            kernel = unadjusted_langevin(lambda x: -0.5 * jnp.sum(x**2), size, 1)

            def step(state: HMCState, normal: Array) -> tuple[HMCState, None]:
                return kernel.apply(LangevinNoise(normal, jnp.zeros(())), state)[0], None

            return jax.lax.scan(step, kernel.init(jax.random.key(0), start), normals)[0].position[0]

        return jax.vmap(jax.vmap(run, (None, 0, 0)), (0, 0, None))(sizes, starts, normals)

    # One step is linear: from 1 without noise it gives its slope, from 0 with noise 1 the size of its noise.
    units = jnp.eye(2)
    slopes = np.asarray(runs(sizes, jnp.broadcast_to(units[0][:, None], (3, 2, 1)), units[1][:, None, None]))
    variances = slopes[:, 1] ** 2 / (1.0 - slopes[:, 0] ** 2)
    starts = np.sqrt(variances)[:, None, None] * rng.normal(size=(n, 1))
    ends = np.asarray(runs(sizes, jnp.asarray(starts), jnp.asarray(rng.normal(size=(n, n_steps, 1)))))
    found: Found = {}
    for size, variance, values in zip(_LANGEVIN_STEPS, variances, ends, strict=True):
        found[f"step {size:g}"] = variance
        away = distance_from_exact(np.square(values), float(variance))
        found[f"step {size:g}, simulated, distance in standard errors"] = away
    return found


@TOPIC.claim("FN-HM-11")
def vanishing_rejections(work: Work) -> Lines:
    """Stationary rejection probability of Metropolis-adjusted Langevin on N(0, 1).

    The energy error is a quadratic form of (position, noise). On a circle of radius r it is r^2 times that on the unit
    circle, so that the integral over r is 1 - 1 / (1 + 2 error) and one over the angle is left.
    """
    angles = 2.0 * math.pi * (np.arange(_N_ANGLES) + 0.5) / _N_ANGLES
    sizes = jnp.asarray(_REJECTION_STEPS)
    n = work.replicates(100_000, 10_000)

    def energy_error(size: Array, position: Array, normal: Array) -> Array:
        kernel = metropolis_langevin(lambda x: -0.5 * jnp.sum(x**2), size, 1)
        noise = LangevinNoise(normal[None], jnp.zeros(()))
        return -kernel.apply(noise, kernel.init(jax.random.key(0), position[None]))[1].log_ratio

    errors = jax.jit(jax.vmap(jax.vmap(energy_error, (None, 0, 0)), (0, None, None)))
    found: Found = {}
    on_circle = np.asarray(errors(sizes, jnp.asarray(np.cos(angles)), jnp.asarray(np.sin(angles))))
    draws = jnp.asarray(work.rng("rejections").normal(size=(2, n)))
    sampled = np.asarray(errors(sizes, *draws))
    for size, circle, values in zip(_REJECTION_STEPS, on_circle, sampled, strict=True):
        # Where the energy falls, nothing is rejected.
        rejected = float(np.mean(1.0 - 1.0 / (1.0 + 2.0 * np.maximum(circle, 0.0))))
        found[f"step {size:g}"] = rejected
        found[f"step {size:g}, acceptance probability"] = 1.0 - rejected
        away = distance_from_exact(1.0 - np.exp(-np.maximum(values, 0.0)), rejected)
        found[f"step {size:g}, simulated, distance in standard errors"] = away
    return found
