"""The contract between a generative model conditioned on its outputs and the kernels that move on its manifold."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.numerics.jacobians import Jacobian, dense_jacobian, noisy_jacobian
from auxmc.numerics.linalg import as_vector


class ConditionedModel(NamedTuple):
    """Differentiable generative model whose random inputs u are conditioned on c(u) = 0.

    The target on the manifold {u: c(u) = 0} has density proportional to rho(u) det(J(u) J(u)^T)^(-1/2) with respect to
    its Hausdorff measure, J being the Jacobian of c.

    Attributes:
        log_prior: maps inputs u [input] to log rho(u), a float64 scalar in nats, up to a constant.
        constraint: maps inputs u [input] to c(u) [constraint], in the units of the data; not finite where the
            generator overflows.
        jacobian: maps inputs u [input] to the structured Jacobian of c at u. It may use that c(u) = 0; where
            it does, it need only be near the Jacobian at points off the manifold, but its log-determinant must have
            the right derivative along the manifold.

    Source: Graham and Storkey 2017, section 4; PhD thesis, section 4.7.
    """

    log_prior: Callable[[Array], Array]
    constraint: Callable[[Array], Array]
    jacobian: Callable[[Array], Jacobian]


def condition_generator(
    generate: Callable[[Any], Array], log_prior: Callable[[Any], Array], observed: Array
) -> ConditionedModel:
    """Conditions any generator on its outputs, with dense linear algebra.

    Args:
        generate: maps inputs u, [input] or any pytree of arrays, to outputs [constraint], differentiable.
        log_prior: maps inputs u to log rho(u).
        observed: data [constraint].

    Source: PhD thesis, section 4.7.
    """
    return ConditionedModel(
        log_prior,
        lambda inputs: generate(inputs) - observed,
        lambda inputs: dense_jacobian(_derivative(generate, inputs)),
    )


def condition_noisy_generator(
    generate: Callable[[Array], Array],
    log_prior: Callable[[Array], Array],
    observed: Array,
    noise_scale: Array | float,
) -> ConditionedModel:
    """Conditions any generator with Gaussian noise n added to its outputs: g(u) + eps n is observed.

    Its Jacobian has full row rank everywhere. Conditioning it is the posterior of approximate Bayesian computation with
    a Gaussian kernel of tolerance eps.

    Args:
        generate: maps inputs u [input] to outputs [constraint], differentiable; its Jacobian may be singular.
        log_prior: maps inputs u [input] to log rho(u).
        observed: data [constraint].
        noise_scale: eps, a positive scalar in the units of the data; may be traced.

    Returns:
        Model with inputs [input + constraint], u first.

    Raises:
        ValueError: noise_scale is not positive.

    Source: PhD thesis, section 4.8.
    """
    if isinstance(noise_scale, int | float) and not noise_scale > 0.0:
        raise ValueError(f"noise_scale must be positive, got {noise_scale}")
    n_outputs = observed.shape[0]

    def log_prior_with_noise(inputs: Array) -> Array:
        return log_prior(inputs[:-n_outputs]) - 0.5 * jnp.sum(jnp.square(inputs[-n_outputs:]))

    def constraint(inputs: Array) -> Array:
        return generate(inputs[:-n_outputs]) + noise_scale * inputs[-n_outputs:] - observed

    def jacobian(inputs: Array) -> Jacobian:
        return noisy_jacobian(_derivative(generate, inputs[:-n_outputs]), noise_scale)

    return ConditionedModel(log_prior_with_noise, constraint, jacobian)


def noisy_input(
    generate: Callable[[Array], Array], inputs: Array, observed: Array, noise_scale: Array | float
) -> Array:
    """A point on the manifold of `condition_noisy_generator`: any inputs u, and the noise that explains the rest.

    Source: PhD thesis, section 4.8, with g_x in place of the printed g_y.
    """
    return jnp.concatenate([inputs, (observed - generate(inputs)) / noise_scale])


def _derivative(generate: Callable[[Any], Array], inputs: Any) -> Array:
    """Jacobian matrix [constraint, input], by the mode with fewer passes."""
    vector, unravel = as_vector(inputs)
    n_outputs = jax.eval_shape(generate, inputs).shape[0]
    derive = jax.jacrev if n_outputs < vector.shape[0] else jax.jacfwd
    return derive(lambda vector: generate(unravel(vector)))(vector)
