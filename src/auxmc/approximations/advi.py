"""Mean-field Gaussian variational approximation, fitted by stochastic gradients through its samples."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from auxmc.numerics.random import standard_normal

_WINDOW = 10
_ADAGRAD_OFFSET = 0.1
N_LAST = 100
"""Last values of the objective whose mean is the guess of the log normaliser."""

# Draws of the bound evaluated side by side: enough to vectorise, few enough for the cache.
_DRAWS_AT_A_TIME = 100

LogDensity = Callable[[Array], Array]


class MeanField(NamedTuple):
    """Gaussian with independent coordinates: mean and log of the standard deviations [dim]."""

    mean: Array
    log_sd: Array

    def draw(self, noise: Array) -> Array:
        """Maps standard normal numbers [dim] to a draw [dim]."""
        return self.mean + jnp.exp(self.log_sd) * noise

    def log_density(self, position: Array) -> Array:
        """Log density at a position [dim], in nats."""
        scaled = (position - self.mean) * jnp.exp(-self.log_sd)
        return -0.5 * jnp.sum(scaled**2 + jnp.log(2.0 * jnp.pi)) - jnp.sum(self.log_sd)


class MeanFieldFit(NamedTuple):
    """What a fit returns."""

    approximation: MeanField  # after the last step
    # Estimate of the evidence lower bound before each step, in nats, with the draws of that step [step].
    objective: Array
    n_not_finite: Array  # steps whose estimate or gradient was not finite; they changed nothing (int32)


def fit_mean_field(
    log_density: LogDensity,
    start: MeanField,
    optimiser: optax.GradientTransformation,
    key: Array,
    n_steps: int,
    n_draws: int = 1,
) -> MeanFieldFit:
    """Maximises the evidence lower bound E_q[log density - log q] by reparameterisation gradients.

    The optimiser turns gradients of the negative bound into steps; the `n_draws` draws of step i belong to
    `fold_in(key, i)`. ValueError if `n_steps` or `n_draws` is not positive.

    Source: Kucukelbir et al. 2017, with one draw a step as in PhD thesis, section 5.6.3.
    """
    if n_steps < 1 or n_draws < 1:
        raise ValueError(f"n_steps and n_draws must be at least 1, got {n_steps} and {n_draws}")

    def negative_bound(fit: MeanField, noise: Array) -> Array:
        return -jnp.mean(jax.vmap(lambda one: _bound_term(log_density, fit, one))(noise))

    def step(carry: tuple[MeanField, Any], index: Array) -> tuple[tuple[MeanField, Any], tuple[Array, Array]]:
        fit, memory = carry
        noise = standard_normal(jax.random.fold_in(key, index), (n_draws, start.mean.size))
        value, gradient = jax.value_and_grad(negative_bound)(fit, noise)
        change, new_memory = optimiser.update(gradient, memory, fit)
        new_fit: MeanField = optax.apply_updates(fit, change)  # type: ignore[assignment]
        finite = jnp.isfinite(value)
        for leaf in gradient:
            finite &= jnp.all(jnp.isfinite(leaf))
        kept = jax.tree.map(lambda a, b: jnp.where(finite, a, b), (new_fit, new_memory), (fit, memory))
        return kept, (-value, ~finite)

    first = (start, optimiser.init(start))
    (fit, _), (objective, failed) = jax.lax.scan(step, first, jnp.arange(n_steps, dtype=jnp.uint32))
    return MeanFieldFit(fit, objective, jnp.sum(failed, dtype=jnp.int32))


def windowed_adagrad(rate: float) -> optax.GradientTransformation:
    """Steps rate g / sqrt(0.1 + sum of the last ten g^2), the optimiser of the published fit.

    Source: notebook of the radon study of the PhD thesis.
    """

    def init(parameters: optax.Params) -> optax.OptState:
        squares = jax.tree.map(lambda p: jnp.zeros((_WINDOW, *p.shape), p.dtype), parameters)
        return (squares, jnp.zeros((), jnp.int32))

    def update(
        gradient: optax.Updates, state: optax.OptState, parameters: optax.Params | None = None
    ) -> tuple[optax.Updates, optax.OptState]:
        squares, index = state  # type: ignore[misc]
        squares = jax.tree.map(lambda s, g: s.at[index % _WINDOW].set(g**2), squares, gradient)
        change = jax.tree.map(
            lambda s, g: -rate * g / jnp.sqrt(_ADAGRAD_OFFSET + jnp.sum(s, axis=0)), squares, gradient
        )
        return change, (squares, index + 1)

    return optax.GradientTransformation(init, update)  # type: ignore[arg-type]


def decaying_adam(rate: float, n_steps: int) -> optax.GradientTransformation:
    """Adam whose rate falls to zero along half a cosine, so that the last steps average over their noise."""
    return optax.adam(optax.cosine_decay_schedule(rate, n_steps))


def log_normaliser_guess(objective: Array) -> Array:
    """Mean of the last hundred values of the objective: the published log zeta, in nats.

    Source: notebook of the radon study of the PhD thesis.
    """
    return jnp.mean(objective[-N_LAST:])


def evidence_lower_bound(
    log_density: LogDensity, fit: MeanField, key: Array, n_draws: int
) -> tuple[Array, Array]:
    """Evidence lower bound of a fit and its standard error, in nats, from draws in whole hundreds."""
    n_batches = -(-n_draws // _DRAWS_AT_A_TIME)

    def batch(index: Array) -> Array:
        noise = standard_normal(jax.random.fold_in(key, index), (_DRAWS_AT_A_TIME, fit.mean.size))
        return jax.vmap(lambda one: _bound_term(log_density, fit, one))(noise)

    terms = jax.lax.map(batch, jnp.arange(n_batches, dtype=jnp.uint32)).ravel()
    return jnp.mean(terms), jnp.std(terms, ddof=1) / jnp.sqrt(terms.size)


def reparameterisation_gradient(log_density: LogDensity, fit: MeanField, noise: Array) -> MeanField:
    """Gradient of the lower bound from one draw, made of normal numbers [dim], through the draw itself; unbiased.

    Source: PhD thesis, equation C.23.
    """
    return jax.grad(lambda q: _bound_term(log_density, q, noise))(fit)


def score_function_gradient(log_density: LogDensity, fit: MeanField, noise: Array) -> MeanField:
    """Gradient of the lower bound from one draw, by the score of q: (log density - log q) grad log q; unbiased.

    The log density need not be differentiable.

    Source: PhD thesis, equation C.20.
    """
    position = fit.draw(noise)
    score = jax.grad(lambda q: q.log_density(position))(fit)
    learning_signal = log_density(position) - fit.log_density(position)
    return jax.tree.map(lambda s: learning_signal * s, score)


def _bound_term(log_density: LogDensity, fit: MeanField, noise: Array) -> Array:
    position = fit.draw(noise)
    return log_density(position) - fit.log_density(position)
