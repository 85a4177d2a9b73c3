"""Identities of continuous tempering on the line, and the curves of figure 2.13, by quadrature."""

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.truncated_exponential import log_base_weight, log_target_weight
from experiments.tempering_illustration.model import POINTS, TWO_MODES, base

# Compiled as one: on arrays as they come, every operation would be a program of its own.
_log_target_weight, _log_base_weight = jax.jit(log_target_weight), jax.jit(log_base_weight)


class ExactPath(NamedTuple):
    """Target and base as log densities on an equally spaced grid."""

    # equally spaced, increasing, so wide that both densities vanish at the ends [point]
    points: FloatArray
    # log density of the target over zeta [point], in nats; normalised or not
    log_target: FloatArray
    log_base: FloatArray  # log density of the normalised base [point], in nats

    @property
    def log_ratio(self) -> float:
        """log Z - log zeta."""
        return float(self.log_normaliser([1.0])[0])

    def log_normaliser(self, inverse_temperatures: ArrayLike) -> FloatArray:
        """log z(b), the log normaliser of (target / zeta)^b base^(1 - b), at inverse temperatures [temperature]."""
        b = np.asarray(inverse_temperatures, float)[:, None]
        return self._log_integral(b * self.log_target + (1.0 - b) * self.log_base)

    def log_marginal(self, inverse_temperatures: ArrayLike) -> FloatArray:
        """Log density of the inverse temperature in continuous tempering [temperature].

        It is normalised over [0, 1] by the distribution of x, of which it is the expected conditional density.
        """
        return self.log_normaliser(inverse_temperatures) - self._log_joint_normaliser()

    def log_constant(self) -> float:
        """log C, of the integral over x and b of the joint density of continuous tempering, by quadrature in both."""
        nodes, weights = np.polynomial.legendre.leggauss(200)
        return float(logsumexp(self.log_normaliser(0.5 * (nodes + 1.0)), b=0.5 * weights))

    def probability_hot(self, upper: float) -> float:
        """Probability that the inverse temperature is below `upper`, by Gauss-Legendre quadrature in b."""
        nodes, weights = np.polynomial.legendre.leggauss(200)
        b = 0.5 * upper * (nodes + 1.0)
        return float(0.5 * upper * weights @ np.exp(self.log_marginal(b)))

    def divergence_target_base(self) -> float:
        """KL(P||Q) of the normalised target from the base."""
        log_p = self.log_target - self.log_ratio
        return self._expectation(log_p, log_p - self.log_base)

    def divergence_base_target(self) -> float:
        """KL(Q||P) of the base from the normalised target."""
        log_p = self.log_target - self.log_ratio
        return self._expectation(self.log_base, self.log_base - log_p)

    def log_mean_weights(self) -> FloatArray:
        """log E[w_0] and log E[w_1] under the distribution of x in the joint distribution of continuous tempering."""
        delta = self.log_base - self.log_target
        log_target, log_base = np.asarray(_log_target_weight(delta)), np.asarray(_log_base_weight(delta))
        # The distribution of x by quadrature of equation 5.20 over b: as the base over w_0 it would cancel the weights.
        nodes, fractions = np.polynomial.legendre.leggauss(200)
        b = 0.5 * (nodes[:, None] + 1.0)
        log_joint = b * self.log_target + (1.0 - b) * self.log_base
        log_distribution = logsumexp(log_joint, b=0.5 * fractions[:, None], axis=0) - self.log_constant()
        return self._log_integral(log_distribution + np.stack([log_base, log_target]))

    def _log_joint_normaliser(self) -> float:
        delta = self.log_base - self.log_target
        return float(self._log_integral(self.log_base - np.asarray(_log_base_weight(delta))))

    def _expectation(self, log_density: FloatArray, values: FloatArray) -> float:
        step = self.points[1] - self.points[0]
        # Where the density underflows to zero the value may be infinite: nothing is missed there.
        inside = log_density > -700.0
        return float(step * np.sum(np.exp(log_density[inside]) * values[inside]))

    def _log_integral(self, log_values: FloatArray) -> FloatArray:
        step = self.points[1] - self.points[0]
        return np.asarray(logsumexp(log_values, axis=-1) + np.log(step), dtype=float)


@functools.cache
def known_path(log_zeta: float = 0.0) -> ExactPath:
    """Exact quantities of the path."""
    target = np.asarray(jax.jit(TWO_MODES.log_density)(POINTS)) - log_zeta
    standard = (POINTS - TWO_MODES.mean) / TWO_MODES.sd
    reference = -(0.5 * standard**2 + np.log(TWO_MODES.sd) + 0.5 * np.log(2.0 * np.pi))
    return ExactPath(POINTS, target, reference)


_CONTROLS = (-5.0, 0.0, 5.0)
_SMALL_STEPS = (1e-3, 5e-4)
_LOG_ZETAS = (-5.0, -1.0, 0.0, 2.0, 5.0)
_CURVES = 6
# Of a Gauss-Legendre quadrature over [0, 1] for exponentials of up to several hundred.
_N_PANELS, _N_NODES = 40, 40
_BASE_VARIANCE_OF_FIGURE = 64.0


def path_statistics() -> xr.Dataset:
    """Errors of the identities, each largest over the cases that are tried."""
    path = known_path()
    identities = weight_identities()
    temperatures = np.linspace(0.0, 1.0, 1001)
    convexity = np.diff(path.log_normaliser(temperatures), 2).min()
    slopes = np.max([_slope_errors(known_path(log_zeta)) for log_zeta in _LOG_ZETAS], axis=0)
    curves = _bridge_curves()
    ends, bounds = _ends_and_bounds()
    toy_ratio, toy_slope = _elbo_toy()
    variables: dict[str, Any] = {
        "weight_identity_error": ("identity", list(identities.values())),
        "evidence_identity_error": ((), _gaussian_evidence_error(), {"units": "nats"}),
        "least_second_difference": ((), convexity, {"units": "nats"}),
        "slope_error": (("end", "difference_step"), slopes),
        "end_error": ((), ends, {"units": "nats"}),
        "bound_slack": ((), bounds, {"units": "nats"}),
        "elbo_ratio_error": ((), toy_ratio, {"units": "nats"}),
        "elbo_slope": ((), toy_slope, {"units": "nats"}),
        "divergence_target_base": ((), path.divergence_target_base(), {"units": "nats"}),
        "divergence_base_target": ((), path.divergence_base_target(), {"units": "nats"}),
        "barrier_height": ("control", barrier_heights(path), {"units": "nats"}),
        "n_modes": ("fifth", [count_modes(curve) for curve in curves], {"units": "modes"}),
        "bridge_integral": ("fifth", np.sum(curves, axis=1) * (POINTS[1] - POINTS[0])),
    }
    coords = {
        "identity": list(identities),
        "end": ["base", "target"],
        "difference_step": list(_SMALL_STEPS),
        "control": list(_CONTROLS),
        "fifth": np.arange(_CURVES),
    }
    return xr.Dataset(variables, coords=coords)


def path_curves() -> xr.Dataset:
    """Curves of figure 2.13."""
    shown = np.abs(POINTS) <= 15.0
    curves = np.stack(_bridge_curves())[:, shown]
    return xr.Dataset(
        {"bridge_density": (("fifth", "x"), curves)}, coords={"fifth": np.arange(_CURVES), "x": POINTS[shown]}
    )


def weight_identities() -> dict[str, float]:
    """Largest errors of four identities of the weights, relative to their terms, over differences of all sizes."""
    sizes = np.concatenate([[0.0], np.geomspace(1e-300, 600.0, 400)])
    delta = np.concatenate([-sizes[::-1], sizes])
    weights = jax.jit(lambda d: (log_target_weight(d), log_base_weight(d)))
    target, reference = (np.asarray(values) for values in weights(delta))
    # The target's weight is one over the integral of exp((1 - b) delta) over b.
    nodes, fractions = np.polynomial.legendre.leggauss(_N_NODES)
    places = (np.arange(_N_PANELS)[:, None] + 0.5 * (nodes + 1.0)).ravel() / _N_PANELS
    each = np.tile(0.5 * fractions / _N_PANELS, _N_PANELS)
    integral = logsumexp(places * delta[:, None], b=each, axis=1)
    difference = np.exp(reference) - np.exp(target) - delta
    return {
        "integral": float(np.max(np.abs(np.expm1(target + integral)))),
        "difference": float(np.max(np.abs(difference) / np.exp(np.maximum(target, reference)))),
        "ratio": float(np.max(np.abs(reference - target - delta) / np.maximum(1.0, np.abs(delta)))),
        "at zero": float(np.max(np.abs(np.exp([target[delta == 0.0], reference[delta == 0.0]]) - 1.0))),
    }


def barrier_heights(path: ExactPath) -> list[float]:
    """Height of the potential energy between the two modes above its higher side, at fixed controls, in nats."""
    heights = []
    for control in _CONTROLS:
        b = 1.0 / (1.0 + np.exp(-control))
        potential = -b * path.log_target - (1.0 - b) * path.log_base
        minima = np.flatnonzero((potential[1:-1] < potential[:-2]) & (potential[1:-1] <= potential[2:])) + 1
        if minima.size < 2:
            heights.append(0.0)
            continue
        between = potential[minima[0] : minima[-1] + 1].max()
        heights.append(float(between - max(potential[minima[0]], potential[minima[-1]])))
    return heights


def count_modes(density: FloatArray) -> int:
    """Number of inner points of a curve that are higher than their neighbours, and than a millionth of the highest."""
    inner = density[1:-1]
    peaks = (inner > density[:-2]) & (inner >= density[2:]) & (inner > 1e-6 * density.max())
    return int(np.sum(peaks))


def _gaussian_evidence_error() -> float:
    """Error of log Z - log zeta = log E[w_1] - log E[w_0] for a Gaussian target whose normaliser is known."""
    points, sd, log_zeta = np.linspace(-40.0, 40.0, 8001), 0.7, 0.3
    target = -0.5 * ((points - 1.0) / sd) ** 2 - log_zeta
    reference = -0.5 * points**2 - 0.5 * np.log(2.0 * np.pi)
    known = np.log(sd * np.sqrt(2.0 * np.pi)) - log_zeta
    ends = ExactPath(points, target, reference).log_mean_weights()
    return abs(float(ends[1] - ends[0]) - known)


def _slope_errors(path: ExactPath) -> FloatArray:
    """Relative errors of slopes (one-sided, second order) of the log marginal at both ends [end, step]."""
    errors = []
    for end, inward, exact in (
        (0.0, 1.0, path.log_ratio - path.divergence_base_target()),
        (1.0, -1.0, path.log_ratio + path.divergence_target_base()),
    ):
        for step in _SMALL_STEPS:
            first, second, third = path.log_marginal(end + inward * step * np.arange(3))
            slope = inward * (4.0 * second - 3.0 * first - third) / (2.0 * step)
            errors.append(abs(float(slope) / exact - 1.0))
    return np.array(errors).reshape(2, len(_SMALL_STEPS))


def _ends_and_bounds() -> tuple[float, float]:
    """Largest error of the ends of the marginal, and smallest slack of the bounds on it, over log zeta.

    The ends are mean weights, compared with 1 / C and 1 / (C zeta), where C is integrated over x and over b.
    """
    temperatures = np.linspace(0.0, 1.0, 201)
    errors, slacks = [], []
    for log_zeta in _LOG_ZETAS:
        path = known_path(log_zeta)
        relative = path.log_marginal(temperatures) - path.log_marginal([0.0])
        known = -path.log_constant() - np.array([0.0, log_zeta])
        errors.append(np.max(np.abs(path.log_mean_weights() - known)))
        ratio = path.log_ratio
        above = temperatures * ratio
        below = np.maximum(
            above - temperatures * path.divergence_base_target(),
            above - (1.0 - temperatures) * path.divergence_target_base(),
        )
        slacks.append(min((above - relative).min(), (relative - below).min()))
    return float(max(errors)), float(min(slacks))


def _elbo_toy() -> tuple[float, float]:
    """Error of log p(1) - log p(0) = KL(Q||P), and the slope of the log marginal at the base.

    The prior is N(0, 1), with an observation 1.5 that has unit noise; the base is N(0.3, 0.8^2), and log zeta
    is the lower bound that it gives.
    """
    points, mean, sd = np.linspace(-30.0, 30.0, 6001), 0.3, 0.8
    joint = -0.5 * points**2 - 0.5 * (1.5 - points) ** 2 - np.log(2.0 * np.pi)
    reference = -0.5 * ((points - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    bound = float(np.sum(np.exp(reference) * (joint - reference)) * (points[1] - points[0]))
    path = ExactPath(points, joint - bound, reference)
    ends = path.log_marginal([0.0, 1.0])
    step = 1e-4
    around = path.log_marginal([-step, step])  # The formula continues smoothly past both ends
    slope = float((around[1] - around[0]) / (2.0 * step))
    return abs(float(ends[1] - ends[0]) - path.divergence_base_target()), abs(slope)


def _bridge_curves() -> list[FloatArray]:
    """Unnormalised densities along the path of figure 2.13; base of variance 64, raised by one nat as published."""
    standard = (POINTS - float(base().mean[0])) ** 2 / _BASE_VARIANCE_OF_FIGURE
    log_base = -0.5 * standard - 0.5 * np.log(2.0 * np.pi * _BASE_VARIANCE_OF_FIGURE)
    log_target = known_path().log_target
    return [np.exp(b * log_target + (1.0 - b) * (log_base + 1.0)) for b in np.linspace(0.0, 1.0, _CURVES)]
