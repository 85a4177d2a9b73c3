"""Langevin and Hamiltonian dynamics driven by noisy gradients, without accept steps.

All steps take arrays [..., dim]: the position, the velocity in units of the step size, an estimate of the potential's
gradient at the position, and standard normal numbers. The step eta is the square of the step size; friction is alpha,
in (0, 1].
"""

import jax.numpy as jnp
from jax import Array


def injected_noise(friction: Array | float, step: Array | float, gradient_noise: Array | float) -> Array:
    """Standard deviation of the noise that a step adds to the velocity: sqrt(2 (alpha - beta eta) eta).

    Friction 1 makes the dynamics first order. `gradient_noise` is beta, HALF the variance of the gradient's noise: the
    noise that is already there. With the variance itself, as the sources' words have it, twice too much is taken away.

    Not a number where the gradient's own noise is more than the friction can balance, so that no noise to add makes the
    distribution right: chains and particles that meet it are counted as lost.

    Source: MSc thesis, Algorithms 3 and 4.
    """
    spare = friction - jnp.asarray(gradient_noise) * step
    return jnp.sqrt(2.0 * spare * step)


def sgld_step(
    position: Array, gradient: Array, normal: Array, step: Array | float, gradient_noise: Array | float = 0.0
) -> Array:
    """One step of stochastic-gradient Langevin dynamics; gradient noise as in `injected_noise`.

    Source: MSc thesis, Algorithm 3.
    """
    return position - step * gradient + injected_noise(1.0, step, gradient_noise) * normal


def sghmc_step(
    position: Array,
    velocity: Array,
    gradient: Array,
    normal: Array,
    step: Array | float,
    friction: Array | float,
    gradient_noise: Array | float = 0.0,
) -> tuple[Array, Array]:
    """One step of stochastic-gradient Hamiltonian Monte Carlo: new position and velocity; noise as in `injected_noise`.

    The position moves with the new velocity. Moving it with the old one, as some libraries do, is stable for a
    curvature k only up to eta k = alpha, this order up to 2 (2 - alpha).

    Source: MSc thesis, Algorithm 4.

    >>> x, v = sghmc_step(jnp.ones(1), jnp.zeros(1), jnp.ones(1), jnp.zeros(1), 0.1, 0.2)
    >>> round(float(x[0]), 6), round(float(v[0]), 6)
    (0.9, -0.1)
    """
    noise = injected_noise(friction, step, gradient_noise) * normal
    velocity = (1.0 - friction) * velocity - step * gradient + noise
    return position + velocity, velocity


def sgnht_step(
    position: Array,
    velocity: Array,
    thermostat: Array,
    gradient: Array,
    normal: Array,
    step: Array | float,
    friction: Array | float,
    rate: Array | float,
) -> tuple[Array, Array, Array]:
    """One step of a stochastic-gradient Nose-Hoover thermostat: SGHMC whose friction grows where velocities are hot.

    The noise of the gradients need not be known, but all coordinates have one friction: the noise is balanced where it
    is as large in each of them. The source compares v^2 with eta, its limit for small alpha. Here it is compared with
    the velocities of `sghmc_step`, 2 eta / (2 - alpha), with which the width of a Gaussian is right for any alpha.

    Args:
        position, velocity, gradient, normal, step: see the module.
        thermostat: alpha, the friction at present [...].
        friction: in (0, 1], of which noise is injected; alpha begins there.
        rate: of alpha, eta over the thermal mass; eta itself in the source. 0 makes it `sghmc_step`.

    Returns:
        New position, velocity and alpha, which is at most 1: with more gradient noise than this balances (its variance
        times eta above 2 (1 - friction)) the distribution stays too wide.

    Source: Ding et al. 2014, Algorithm 2, which the MSc thesis proposes in section 6.3.

    >>> x, v, a = sgnht_step(*(jnp.ones(1), jnp.zeros(1), jnp.array(0.2)), jnp.ones(1), jnp.zeros(1), 0.1, 0.2, 0.1)
    >>> round(float(x[0]), 6), round(float(v[0]), 6), round(float(a), 6)
    (0.9, -0.1, 0.109)
    """
    noise = injected_noise(friction, step, 0.0) * normal
    velocity = (1.0 - thermostat[..., None]) * velocity - step * gradient + noise
    heat = (1.0 - 0.5 * thermostat) * jnp.mean(jnp.square(velocity), axis=-1) / step
    return position + velocity, velocity, jnp.minimum(thermostat + rate * (heat - 1.0), 1.0)
