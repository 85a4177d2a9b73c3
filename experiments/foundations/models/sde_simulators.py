"""Simulators of stochastic differential equations dy = m(y) dt + s(y) dn with diagonal noise, from given noise.

The numbers that drive a path are an argument: one simulator is a deterministic map of standard normal inputs.
"""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

__all__ = ["Scheme", "geometric_brownian_motion", "simulate_sde"]

Scheme = Literal["euler_maruyama", "milstein"]

Field = Callable[[Array], Array]


def simulate_sde(
    drift: Field, diffusion: Field, start: Array, noise: Array, time_step: Array | float, scheme: Scheme
) -> Array:
    """States after each step.

    With h the time step and n a row of the noise, a step of Euler and Maruyama's scheme is
    y + h m + sqrt(h) s n; Milstein's adds (h / 2) s s' (n^2 - 1), s' being the derivative of each component of s with
    respect to the same component of y.

    Args:
        drift: m, maps a state [dim] to [dim].
        diffusion: s, likewise; component i may depend on component i of the state only.
        start: first state [dim].
        noise: standard normal numbers [step, dim].
        time_step: h, positive.
        scheme: `euler_maruyama` or `milstein`.

    Returns:
        States [step, dim], without the start.

    Source: PhD thesis, Figure 1.5a.
    Must hold: strong orders 1/2 and 1; both are the same if s is constant.
    """
    h = jnp.asarray(time_step)

    def step(y: Array, n: Array) -> tuple[Array, Array]:
        if scheme == "milstein":
            # Diagonal noise: along a vector of ones the derivative is that of each component by its own.
            s, slope = jax.jvp(diffusion, (y,), (jnp.ones_like(y),))
            correction = 0.5 * h * s * slope * (jnp.square(n) - 1.0)
        else:
            s, correction = diffusion(y), jnp.zeros_like(y)
        new = y + h * drift(y) + jnp.sqrt(h) * s * n + correction
        return new, new

    return jax.lax.scan(step, start, noise)[1]


def geometric_brownian_motion(
    start: Array, growth: float, volatility: float, noise: Array, time_step: Array | float
) -> Array:
    """Exact states [step, dim] of dy = growth y dt + volatility y dn, driven by the same noise as `simulate_sde`.

    y(t) = y(0) exp((growth - volatility^2 / 2) t + volatility n(t)), n(t) being the sum of the increments so far.
    """
    h = jnp.asarray(time_step)
    times = h * jnp.arange(1, noise.shape[0] + 1, dtype=noise.dtype)
    path = jnp.sqrt(h) * jnp.cumsum(noise, axis=0)
    return start[None, :] * jnp.exp((growth - 0.5 * volatility**2) * times[:, None] + volatility * path)
