"""Ten densities with known evidence, in 2 to 30 dimensions, with one to eighteen modes.

Likelihoods are written for NumPy, `jax.numpy` and PyTensor alike, as programs differ in what they want, and map points
[..., dim] to nats [...]. Evidence comes from closed forms, quadrature, or for tails beyond a box, exact draws.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp, ndtr, ndtri


class Problem(NamedTuple):
    """A likelihood and a prior, uniform on the cube (-half, half) or normal around zero."""

    dim: int  # number of parameters
    # Maps points [..., dim] and the module of array functions to nats [...].
    log_likelihood: Callable[[Any, Any], Any]
    log_evidence: Callable[[], float]  # computes the known value, in nats
    half: float = 0.0  # half of the side of the cube, or zero
    sd: float = 0.0  # standard deviation of the normal prior, or zero

    def log_prior(self, x: Any, xp: Any) -> Any:
        """Normalised log density, in nats, of points [..., dim]."""
        if self.half:
            inside = xp.all(xp.abs(x) < self.half, axis=-1)
            return xp.where(inside, -self.dim * math.log(2.0 * self.half), -xp.inf)
        constant = self.dim * math.log(self.sd * math.sqrt(2.0 * math.pi))
        return -0.5 * xp.sum((x / self.sd) ** 2, axis=-1) - constant

    def from_cube(self, u: Any) -> Any:
        """Points with the distribution of the prior from points of the unit cube, both [..., dim]."""
        return self.half * (2.0 * u - 1.0) if self.half else self.sd * ndtri(u)


def _mixture(parts: Any, fraction: float, xp: Any) -> Any:
    first, second = parts
    return xp.logaddexp(math.log(fraction) + first, math.log1p(-fraction) + second)


def _two_modes() -> Problem:
    """A third at 4, the rest at -4, standard deviation 0.5."""

    def log_likelihood(x: Any, xp: Any) -> Any:
        squares = (-2.0 * xp.sum((x - centre) ** 2, axis=-1) for centre in (4.0, -4.0))
        return _mixture(squares, 1 / 3, xp) - math.log(0.5 * math.pi)

    return Problem(2, log_likelihood, lambda: -2.0 * math.log(20.0), half=10.0)


def _two_shells(dim: int) -> Problem:
    """Radius 2, width 0.1, centres 7 apart on the first axis."""
    centre = 3.5 * np.eye(dim)[0]

    def log_likelihood(x: Any, xp: Any) -> Any:
        radii = (xp.sqrt(xp.sum((x - side * centre) ** 2, axis=-1)) for side in (1.0, -1.0))
        return _mixture((-0.5 * ((radius - 2.0) / 0.1) ** 2 for radius in radii), 0.5, xp)

    def log_evidence() -> float:
        mass = quad(lambda r: r ** (dim - 1) * math.exp(-0.5 * ((r - 2.0) / 0.1) ** 2), 1.0, 3.0)[0]
        return math.log(2.0 * mass) + dim * math.log(math.sqrt(math.pi) / 12.0) - math.lgamma(0.5 * dim)

    return Problem(dim, log_likelihood, log_evidence, half=6.0)


def student_parts(dim: int, shift: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean [dim] at -shift and +shift in turns, and Cholesky factor [dim, dim] of the scale matrix."""
    factor = np.random.default_rng(seed).normal(size=(dim, 2 * dim)) * 0.5 / math.sqrt(2 * dim)
    return shift * np.where(np.arange(dim) % 2, 1.0, -1.0), np.linalg.cholesky(factor @ factor.T)


def student(x: Any, xp: Any, degrees: float, mean: np.ndarray, root: np.ndarray) -> Any:
    """Log of the normalised Student-t density at points [..., dim], in nats."""
    dim, power = len(mean), 0.5 * (degrees + len(mean))
    square = xp.sum(((x - mean) @ np.linalg.inv(root).T) ** 2, axis=-1)
    constant = gammaln(power) - gammaln(0.5 * degrees) - np.sum(np.log(np.diag(root)))
    return constant - 0.5 * dim * math.log(degrees * math.pi) - power * xp.log1p(square / degrees)


def _two_students(dim: int) -> Problem:
    """0.3 and 0.7 of Student-t densities of 5 degrees; a million exact draws give their mass in the box to 1e-4."""
    parts = [student_parts(dim, 1.0, 3), student_parts(dim, -1.0, 4)]

    def log_evidence() -> float:
        random, inside = np.random.default_rng(1), 0
        for n, (mean, root) in zip((300_000, 700_000), parts, strict=True):
            scale = np.sqrt(5.0 / random.chisquare(5.0, n))[:, None]
            draws = mean + scale * (random.normal(size=(n, dim)) @ root.T)
            inside += int(np.count_nonzero(np.all(np.abs(draws) < 6.0, axis=1)))
        return math.log(inside / 1e6) - dim * math.log(12.0)

    def log_likelihood(x: Any, xp: Any) -> Any:
        return _mixture((student(x, xp, 5.0, *part) for part in parts), 0.3, xp)

    return Problem(dim, log_likelihood, log_evidence, half=6.0)


def _banana() -> Problem:
    """Rosenbrock's."""

    def log_likelihood(x: Any, xp: Any) -> Any:
        return -((1.0 - x[..., 0]) ** 2) - 100.0 * (x[..., 1] - x[..., 0] ** 2) ** 2

    def inner(a: float) -> float:
        inside = ndtr((5.0 - a**2) * math.sqrt(200.0)) - ndtr((-5.0 - a**2) * math.sqrt(200.0))
        return math.exp(-((1.0 - a) ** 2)) * inside * math.sqrt(0.01 * math.pi)

    return Problem(2, log_likelihood, lambda: math.log(quad(inner, -2.5, 2.5)[0] / 100.0), half=5.0)


def _eggbox() -> Problem:
    """Eighteen modes; the trapezoidal rule is exact to rounding on a smooth function that is even at both ends."""

    def log_likelihood(x: Any, xp: Any) -> Any:
        return (2.0 + xp.cos(0.5 * x[..., 0] + 2.5 * math.pi) * xp.cos(0.5 * x[..., 1] + 2.5 * math.pi)) ** 5

    def log_evidence() -> float:
        grid, weights = np.linspace(-5.0 * math.pi, 5.0 * math.pi, 2001), np.full(2001, 1.0 / 2000)
        weights[[0, -1]] /= 2.0
        values = log_likelihood(np.stack(np.meshgrid(grid, grid), axis=-1), np)
        return float(logsumexp(values, b=weights[:, None] * weights))

    return Problem(2, log_likelihood, log_evidence, half=5.0 * math.pi)


def _logistic() -> Problem:
    """200 labels, an intercept and four slopes; evidence by Gauss-Hermite quadrature around the mode."""
    random = np.random.default_rng(2)
    data = np.column_stack([np.ones(200), random.normal(size=(200, 4))])
    is_one = random.logistic(size=200) < data @ [0.5, 1.0, -1.0, 0.5, 0.0]
    signed = np.where(is_one, 1.0, -1.0)[:, None] * data

    def log_likelihood(x: Any, xp: Any) -> Any:
        return -xp.sum(xp.logaddexp(0.0, -(x @ signed.T)), axis=-1)

    def log_evidence() -> float:
        mode = np.zeros(5)
        for _ in range(30):
            wrong = 1.0 / (1.0 + np.exp(signed @ mode))
            precision = (signed.T * wrong * (1.0 - wrong)) @ signed + np.eye(5) / 4.0
            mode = mode + np.linalg.solve(precision, signed.T @ wrong - mode / 4.0)
        root = np.linalg.inv(np.linalg.cholesky(precision)).T
        rule = np.polynomial.hermite_e.hermegauss(9)
        z, weights = (np.stack(np.meshgrid(*[v] * 5), axis=-1).reshape(-1, 5) for v in rule)
        x = mode + z @ root.T
        logs = log_likelihood(x, np) + problem.log_prior(x, np) + np.sum(0.5 * z**2 + np.log(weights), axis=1)
        return float(logsumexp(logs) + np.linalg.slogdet(root)[1])

    problem = Problem(5, log_likelihood, log_evidence, sd=2.0)
    return problem


def _gauss(dim: int) -> Problem:
    """A Gaussian likelihood with condition number 1000 around a draw of the prior."""
    random = np.random.default_rng(7)
    axes = np.linalg.qr(random.normal(size=(dim, dim)))[0]
    variances, centre = np.geomspace(1e-3, 1.0, dim), random.normal(size=dim)

    def log_likelihood(x: Any, xp: Any) -> Any:
        return -0.5 * xp.sum(((x - centre) @ axes) ** 2 / variances, axis=-1)

    def log_evidence() -> float:
        squares = (centre @ axes) ** 2 / (1.0 + variances)
        return float(0.5 * np.sum(np.log(variances / (1.0 + variances)) - squares))

    return Problem(dim, log_likelihood, log_evidence, sd=1.0)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "two_modes": _two_modes,
    "shells2": partial(_two_shells, 2),
    "student2": partial(_two_students, 2),
    "rosen": _banana,
    "eggbox": _eggbox,
    "logistic": _logistic,
    "shells10": partial(_two_shells, 10),
    "student10": partial(_two_students, 10),
    "gauss30": partial(_gauss, 30),
    "student30": partial(_two_students, 30),
}
