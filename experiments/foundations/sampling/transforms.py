"""Draws as functions of other draws: the density of the result, and Box and Muller's pair of normal numbers."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

__all__ = ["box_muller", "inverse_box_muller", "transformed_log_density"]

_TURN = 2.0 * math.pi


def transformed_log_density(
    log_density: Callable[[Array], Array], inverse: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """Log density of x = g(u) where u has a known one and g is smooth with a smooth inverse.

    Args:
        log_density: of u, maps [dim] to a scalar in nats.
        inverse: of g, maps [dim] to [dim].

    Returns:
        Function of x [dim]: log density of g^-1(x) plus the log of the size of the determinant of the Jacobian of
        g^-1 there, found by automatic differentiation.

    Must hold: the density integrates to 1; that of the inverse map gives back log_density.

    Source: PhD thesis, section 1.1.4.

    >>> doubled = transformed_log_density(lambda u: -u[0], lambda x: 0.5 * x)
    >>> round(float(jnp.exp(doubled(jnp.array([0.0])))), 3)
    0.5
    """
    jacobian = jax.jacfwd(inverse)

    def transformed(x: Array) -> Array:
        return log_density(inverse(x)) + jnp.linalg.slogdet(jacobian(x))[1]

    return transformed


def box_muller(uniforms: Array) -> Array:
    """Two independent standard normal numbers from two uniform ones.

    x = sqrt(-2 log u1) (cos(2 pi u2), sin(2 pi u2)).

    Args:
        uniforms: u1 in (0, 1] and u2 in [0, 1) [..., 2]; a generator that can give u1 = 0 needs
            `uniforms.avoiding_zero`.

    Returns:
        Normal numbers [..., 2], of the type of uniforms.

    Must hold: the determinant of the Jacobian is 2 pi / u1 in size; finite for every u1 above 0.

    Source: Box and Muller 1958; PhD thesis, Eqs. 2.6 and 2.7. The chapter draft prints u1 in place of the angle.

    >>> [round(float(x), 6) for x in box_muller(jnp.array([0.0455, 0.0455]))]
    [2.385078, 0.701062]
    """
    radius = jnp.sqrt(-2.0 * jnp.log(uniforms[..., :1]))
    angle = _TURN * uniforms[..., 1]
    return radius * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def inverse_box_muller(normals: Array) -> Array:
    """The uniform numbers that `box_muller` maps to the given normal ones.

    u1 = exp(-|x|^2 / 2), and u2 is the angle of (x1, x2) in turns, in [0, 1).

    Args:
        normals: [..., 2].

    Returns:
        Uniform numbers [..., 2].

    Must hold: undoes `box_muller`, in all four quadrants.

    Source: PhD thesis, section 2.1.3, corrected: arctan(x1 / x2) as printed there has the sides exchanged and cannot
    tell opposite quadrants apart (FN-DS-02).

    >>> [round(float(u), 12) for u in inverse_box_muller(box_muller(jnp.array([0.3, 0.8])))]
    [0.3, 0.8]
    """
    first = jnp.exp(-0.5 * jnp.sum(jnp.square(normals), axis=-1))
    turns = jnp.mod(jnp.arctan2(normals[..., 1], normals[..., 0]) / _TURN, 1.0)
    # A tiny negative angle is rounded to a whole turn.
    return jnp.stack([first, jnp.where(turns < 1.0, turns, 0.0)], axis=-1)
