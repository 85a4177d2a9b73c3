"""The contract between a target with a tractable base and the kernels that temper between them."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import solve_triangular

from auxmc.numerics.linalg import check_lower_triangular, scaled

LogDensitiesAndGradients = Callable[[Array], tuple[tuple[Array, Array], tuple[Array, Array]]]


class Bridge(NamedTuple):
    """Target and base distribution on the real vectors of one dimension, joined by their geometric path.

    The path has density proportional to (target / zeta)^b base^(1 - b) at inverse temperature b in [0, 1], zeta being a
    guess of the target's normaliser. The kernels divide by zeta along the path, and put it back into the log weights
    that they hand out: estimates made from these are of the normaliser itself.

    Attributes:
        log_densities: maps x [dim] to the log density of the target, not normalised, and that of the base, which is;
            scalars in nats.
        log_densities_and_gradients: maps x [dim] to ((target, base), (gradient of target [dim], gradient of base
            [dim])).
        draw_base: maps standard normal numbers [dim] to an exact draw of the base [dim].
        dim: length of x.
        log_zeta: guess of the log of the target's normaliser, scalar in nats.

    Source: PhD thesis, section 5.1.
    """

    log_densities: Callable[[Array], tuple[Array, Array]]
    log_densities_and_gradients: LogDensitiesAndGradients
    draw_base: Callable[[Array], Array]
    dim: int
    log_zeta: Array | float = 0.0


class GaussianBase(NamedTuple):
    """Normalised Gaussian base; `gaussian_base` makes it.

    Attributes:
        mean: [dim].
        scale: lower Cholesky factor of the covariance [dim, dim], or standard deviations [dim] of a diagonal one.
    """

    mean: Array
    scale: Array

    @property
    def dim(self) -> int:
        """Length of x."""
        return int(self.mean.shape[0])

    def log_density(self, x: Array) -> Array:
        """Log density at x [dim], in nats."""
        centred = x - self.mean
        if self.scale.ndim == 1:
            standard, widths = centred / self.scale, self.scale
        else:
            standard, widths = solve_triangular(self.scale, centred, lower=True), jnp.diagonal(self.scale)
        constant = 0.5 * self.dim * jnp.log(2.0 * jnp.pi).astype(x.dtype) + jnp.sum(jnp.log(widths))
        return -(0.5 * jnp.sum(jnp.square(standard)) + constant)

    def draw(self, noise: Array) -> Array:
        """Maps standard normal numbers [dim] to a draw [dim]."""
        return self.mean + scaled(self.scale, noise)


def gaussian_base(mean: Array, scale: Array) -> GaussianBase:
    """Makes a Gaussian base from the mean and the scale of `GaussianBase`.

    Raises:
        ValueError: shapes do not agree, or a matrix is not lower triangular.
    """
    dim = mean.shape[0] if mean.ndim == 1 else -1
    if scale.shape not in ((dim,), (dim, dim)):
        got = f"{list(mean.shape)} and {list(scale.shape)}"
        raise ValueError(f"mean must be [dim], scale [dim] or a Cholesky factor [dim, dim], got {got}")
    if scale.ndim == 2:
        check_lower_triangular("scale", scale)
    return GaussianBase(mean, scale)


def bridge(
    log_target: Callable[[Array], Array],
    base: GaussianBase,
    log_zeta: Array | float = 0.0,
    log_densities_and_gradients: LogDensitiesAndGradients | None = None,
) -> Bridge:
    """Joins a target to a Gaussian base.

    Args:
        log_target: maps x [dim] to the log of the unnormalised target density, in nats.
        base: the base.
        log_zeta: guess of the log of the target's normaliser, in nats.
        log_densities_and_gradients: as in `Bridge`, where a hand-written form is faster; by default derivatives are
            automatic.

    >>> joined = bridge(lambda x: -0.5 * jnp.sum(x**2), gaussian_base(jnp.zeros(2), jnp.ones(2)))
    >>> target, base = joined.log_densities(jnp.ones(2))
    >>> round(float(target - base), 6)
    1.837877
    """

    def log_densities(x: Array) -> tuple[Array, Array]:
        return log_target(x), base.log_density(x)

    def automatic(x: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        # Minus the log densities are differentiated: kernels take energies, and both changes of sign cancel.
        target, target_gradient = jax.value_and_grad(lambda x: -log_target(x))(x)
        reference, base_gradient = jax.value_and_grad(lambda x: -base.log_density(x))(x)
        return (-target, -reference), (-target_gradient, -base_gradient)

    return Bridge(log_densities, log_densities_and_gradients or automatic, base.draw, base.dim, log_zeta)
