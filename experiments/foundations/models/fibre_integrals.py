"""Densities and expectations of a generator's output by integrals along its fibres, to near rounding.

For inputs u in the plane with density rho and an output x = g(u), the co-area formula gives

    p(x) E[f(u) | x] = integral over the fibre g(u) = x of f(u) rho(u) / |grad g(u)| with respect to arc length.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad

from auxmc.numerics.array_types import FloatArray

__all__ = ["Branch", "fibre_integral", "hyperbola_branches", "hyperbola_generator", "noisy_output_density"]


class Branch(NamedTuple):
    """A piece of a fibre.

    Attributes:
        points: maps parameters [point] to inputs [point, 2].
        speeds: maps parameters [point] to the length of the derivative of the inputs [point].
        ends: interval of the parameter, at whose ends the integrand has vanished.
    """

    points: Callable[[FloatArray], FloatArray]
    speeds: Callable[[FloatArray], FloatArray]
    ends: tuple[float, float]


def fibre_integral(
    function: Callable[[FloatArray], FloatArray],
    gradient_norm: Callable[[FloatArray], FloatArray],
    branches: Sequence[Branch],
    n_points: int = 401,
) -> float:
    """Integral over a fibre of function times the standard normal density of the inputs over the norm of the gradient.

    Trapezoidal sums, which converge faster than any power for smooth integrands that vanish at the ends.

    Args:
        function: maps inputs [point, 2] to values [point].
        gradient_norm: maps inputs [point, 2] to |grad g| [point].
        branches: the pieces.
        n_points: of each piece.

    Raises:
        ValueError: an integrand that has not vanished at the ends of a piece.

    Source: PhD thesis, Propositions 4.1 and 4.2.
    Must hold: closed forms on the hyperbola.
    """
    total = 0.0
    for branch in branches:
        t = np.linspace(*branch.ends, n_points)
        u = branch.points(t)
        density = np.exp(-0.5 * np.sum(u**2, axis=1)) / (2.0 * math.pi)
        values = function(u) * density * branch.speeds(t) / gradient_norm(u)
        if max(abs(values[0]), abs(values[-1])) > 1e-15 * np.abs(values).max():
            raise ValueError(
                f"the integrand has not vanished at the ends {branch.ends} of a piece: widen them"
            )
        total += float(values.sum() * (t[1] - t[0]))
    return total


def hyperbola_generator(inputs: ArrayLike) -> FloatArray:
    """g(u) = u1^2 - u2^2 [...] for inputs [..., 2].

    Source: PhD thesis, Eq. 4.51.
    """
    u = np.asarray(inputs, float)
    return np.asarray(u[..., 0] ** 2 - u[..., 1] ** 2, float)


def hyperbola_branches(output: float) -> tuple[Branch, Branch]:
    """The two branches of u1^2 - u2^2 = output: sqrt(output) (+-cosh t, sinh t), or with the axes exchanged.

    Raises:
        ValueError: the output is 0, where the fibre crosses itself.
    """
    if output == 0.0:
        raise ValueError(
            "the fibre of 0 is two crossing lines, and the density of the output is infinite there"
        )
    scale = math.sqrt(abs(output))
    order = (0, 1) if output > 0.0 else (1, 0)
    # There exp(-scale^2 cosh(2t) / 2) is below exp(-60) of its value at 0.
    end = 0.5 * math.acosh(1.0 + 120.0 / scale**2)

    def points(sign: float) -> Callable[[FloatArray], FloatArray]:
        return lambda t: scale * np.stack([sign * np.cosh(t), np.sinh(t)], axis=1)[:, order]

    def speeds(t: FloatArray) -> FloatArray:
        return np.asarray(scale * np.sqrt(np.cosh(2.0 * t)), float)

    return Branch(points(1.0), speeds, (-end, end)), Branch(points(-1.0), speeds, (-end, end))


def noisy_output_density(
    density_at: Callable[[float], float],
    output: float,
    noise_scale: float,
    singularities: Sequence[float] = (),
) -> float:
    """Density at `output` of x + noise_scale n with n standard normal, by adaptive quadrature.

    It is what approximate Bayesian computation with a Gaussian kernel has in place of the density of x.

    Args:
        density_at: density of x.
        output: where to evaluate.
        noise_scale: positive; the integral reaches ten of it to either side.
        singularities: values of x at which the density has an integrable singularity.

    Raises:
        ValueError: the noise scale is not positive.
    """
    if not noise_scale > 0.0:
        raise ValueError(f"noise_scale must be positive, got {noise_scale}")

    def smoothed(x: float) -> float:
        standard = (x - output) / noise_scale
        return density_at(x) * math.exp(-0.5 * standard**2) / (noise_scale * math.sqrt(2.0 * math.pi))

    low, high = output - 10.0 * noise_scale, output + 10.0 * noise_scale
    cuts = [low, *sorted(s for s in singularities if low < s < high), high]
    return float(
        sum(quad(smoothed, a, b, epsabs=1e-12, epsrel=1e-11, limit=200)[0] for a, b in pairwise(cuts))
    )
