"""Approximate Bayesian computation for models known by their quantile function, with brackets for the uniforms.

Data are x_i = q(p_i | z) with q increasing in p and independent uniforms p_i. Under a uniform kernel on a cube
of half side eps the target on (z, p) is prior(z) prod_i 1[|observation_i - q(p_i | z)| <= eps]. For given z the
allowed p_i form an interval, which bisection of (0, 1) brackets from outside within 2^-m at each end.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import FROM_POSITION, Kernel, pytree_positions, select

Quantile = Callable[[Array, Array], Array]

# Halvings of (0, 1) after which a uniform is known to the last bit of a number near 1.
_SOLVE_BISECTIONS = 60


class Brackets(NamedTuple):
    """Intervals that contain all allowed uniforms: ends [data] each."""

    lower: Array
    upper: Array


class ModifiedABCState(NamedTuple):
    """Parameters z [dim], uniforms p [data], sum of the logs of the bracket widths at z, and a log density.

    That is the log prior at z where all uniforms are allowed, else minus infinity, in nats.
    """

    position: Array
    uniforms: Array
    log_width: Array
    log_density: Array


class ModifiedABCInfo(NamedTuple):
    """What one update did."""

    is_accepted: Array  # whether the proposal was accepted (bool)
    acceptance_rate: Array  # 0 where the prior is zero or a generated value is too far from its observation
    n_outside_prior: Array  # proposals where the prior is zero, 0 or 1 (int32)
    # Proposals, within the prior, with a generated value too far off, 0 or 1 (int32).
    n_outside_tolerance: Array
    n_quantiles: Array  # evaluations of the quantile function at all data (int32)


class ModifiedABCNoise(NamedTuple):
    """Random numbers of an update: offsets in (-1, 1) [dim], uniforms [data], log of the accept uniform."""

    offsets: Array
    uniforms: Array
    log_uniform: Array


@pytree_positions("quantile", "log_prior")
def modified_abc(
    quantile: Quantile,
    log_prior: Callable[[Any], Array],
    observations: Array,
    tolerance: Array | float,
    step_size: Array | float,
    dim: int = FROM_POSITION,
    n_bisections: Array | int = 16,
) -> Kernel:
    """Metropolis-Hastings on parameters and uniforms, with uniforms drawn inside brackets around the allowed values.

    Args:
        quantile: maps (p [data], z [dim]) to quantiles [data], not decreasing in p; any values where the prior is zero.
        log_prior: maps z [dim] to a log density, in nats; minus infinity where the prior is zero.
        observations: data [data].
        tolerance: half side of the cube, in units of the data; may be traced.
        step_size: half side of the cube of proposals for z; may be traced.
        dim: number of parameters.
        n_bisections: halvings m of (0, 1) for each end of a bracket; may be traced.

    Returns:
        Kernel on ModifiedABCState with ModifiedABCInfo. `init(position)` starts at the uniforms that give the
        data; where the parameters cannot give them the log density is minus infinity, and the first allowed
        proposal is accepted.

    Raises:
        ValueError: dim is not positive or observations are no vector.

    Source: PhD thesis, section 4.10.1, after McVinish 2012; the sources give an outline only.

    >>> kernel = modified_abc(lambda p, z: p + z, lambda z: -0.5 * jnp.sum(z**2), jnp.array([0.5]), 0.1, 0.3, dim=1)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(1)))
    >>> float(abs(kernel.init(jnp.zeros(1)).uniforms[0] - 0.5)) < 1e-12
    True
    """
    if observations.ndim != 1 or observations.shape[0] < 1:
        raise ValueError(
            f"observations must be a vector of at least one number, got shape {observations.shape}"
        )
    n_data = observations.shape[0]

    def evaluate(
        position: Array, uniforms: Array, brackets: Brackets
    ) -> tuple[ModifiedABCState, Array, Array]:
        prior = log_prior(position)
        possible = jnp.isfinite(prior)
        near = jnp.all(jnp.abs(observations - quantile(uniforms, position)) <= tolerance)
        log_width = jnp.sum(jnp.log(brackets.upper - brackets.lower))
        density = jnp.where(possible & near, prior, -jnp.inf)
        return ModifiedABCState(position, uniforms, log_width, density), possible, near

    def brackets_at(position: Array) -> Brackets:
        return bracket_uniforms(quantile, position, observations, tolerance, n_bisections)

    def init(position: Array, key: Array | None = None) -> ModifiedABCState:
        closest = bracket_uniforms(quantile, position, observations, 0.0, _SOLVE_BISECTIONS)
        return evaluate(position, 0.5 * (closest.lower + closest.upper), brackets_at(position))[0]

    def draw(key: Array) -> ModifiedABCNoise:
        uniforms = jax.random.uniform(jax.random.fold_in(key, 0), (n_data + dim,), dtype=jnp.float64)
        return ModifiedABCNoise(
            offsets=2.0 * uniforms[:dim] - 1.0,
            uniforms=uniforms[dim:],
            log_uniform=-jax.random.exponential(jax.random.fold_in(key, 1)),
        )

    def apply(noise: ModifiedABCNoise, state: ModifiedABCState) -> tuple[ModifiedABCState, ModifiedABCInfo]:
        position = state.position + step_size * noise.offsets
        brackets = brackets_at(position)
        uniforms = brackets.lower + (brackets.upper - brackets.lower) * noise.uniforms
        proposed, possible, near = evaluate(position, uniforms, brackets)
        log_ratio = proposed.log_density - state.log_density + proposed.log_width - state.log_width
        feasible = jnp.isfinite(proposed.log_density)
        accepted = feasible & (noise.log_uniform < log_ratio)
        probability = jnp.where(feasible, jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0)
        info = ModifiedABCInfo(
            accepted,
            probability,
            (~possible).astype(jnp.int32),
            (possible & ~near).astype(jnp.int32),
            2 * jnp.asarray(n_bisections, jnp.int32) + 1,
        )
        return select(accepted, proposed, state), info

    return Kernel(init, draw, apply)


def bracket_uniforms(
    quantile: Quantile,
    position: Array,
    observations: Array,
    tolerance: Array | float,
    n_bisections: Array | int,
) -> Brackets:
    """Brackets of the uniforms whose quantiles are within the tolerance of the observations.

    Their ends exceed the allowed interval by at most 2^-n_bisections at each side, and stay at 0 or 1 where the
    quantile function does not reach a target.
    """

    def solve(targets: Array) -> Brackets:
        def halve(_: Array, ends: Brackets) -> Brackets:
            middle = 0.5 * (ends.lower + ends.upper)
            below = quantile(middle, position) < targets
            return Brackets(jnp.where(below, middle, ends.lower), jnp.where(below, ends.upper, middle))

        whole = Brackets(jnp.zeros_like(targets), jnp.ones_like(targets))
        return lax.fori_loop(0, n_bisections, halve, whole)

    return Brackets(solve(observations - tolerance).lower, solve(observations + tolerance).upper)
