"""Mean-field approximations of a Boltzmann machine from many starts at once, and how many of them are distinct."""

from typing import NamedTuple

import numpy as np

from auxmc.numerics.array_types import FloatArray

VARIANTS = ("published", "converged")
"""Gradient descent that stops after 1000 steps, converged or not; and the same carried on until nothing changes."""

_STEP_SIZE = 0.2
_N_STEPS = 1000
_START_SD = 0.5
_SAME_FIT = 1e-4
_TOLERANCE = 1e-12
_MAX_SWEEPS = 20_000


class MeanFieldFits(NamedTuple):
    """Approximations by independent spins."""

    means: FloatArray  # E[s] of each fit [fit, unit]
    objectives: FloatArray  # lower bound on the log normaliser of the machine, in nats [fit]
    # Largest difference of a mean m_i from its fixed point tanh(b_i + sum_j W_ij m_j) [fit].
    residual: FloatArray


def boltzmann_mean_field(
    weights: FloatArray, biases: FloatArray, starts: FloatArray, variant: str = "published"
) -> MeanFieldFits:
    """Minimises the free energy of a machine with weights [unit, unit] and biases [unit] from each start [fit, unit].

    The units are independent with means tanh(theta); half of the standard normal numbers of a start is the first theta.
    Gradient descent in theta makes 999 steps of size 0.2. The variant `converged` continues with exact updates of one
    unit at a time, which cannot increase the free energy. ValueError if the variant is not one of VARIANTS.

    Source: PhD thesis, section 5.6.1 and Appendix E.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}")
    theta = _START_SD * starts
    for _ in range(_N_STEPS - 1):
        means = np.tanh(theta)
        theta = theta - _STEP_SIZE * (1.0 - means**2) * (theta - biases - means @ weights)
    if variant == "converged":
        theta = _sweep(weights, biases, theta)
    means = np.tanh(theta)
    return MeanFieldFits(
        means,
        negative_free_energy(weights, biases, theta),
        np.max(np.abs(means - np.tanh(biases + means @ weights)), axis=1),
    )


def distinct_fits(fits: MeanFieldFits) -> MeanFieldFits:
    """Drops each fit whose means are nearer than 1e-4, in Euclidean distance, to those of one kept before it."""
    kept: list[int] = []
    for i, means in enumerate(fits.means):
        distances = np.linalg.norm(fits.means[kept] - means, axis=1)
        if not np.any(distances < _SAME_FIT):
            kept.append(i)
    return MeanFieldFits(*(values[kept] for values in fits))


def negative_free_energy(weights: FloatArray, biases: FloatArray, theta: FloatArray) -> FloatArray:
    """Lower bound on the log normaliser [fit] from natural parameters theta [fit, unit].

    >>> theta = np.full((1, 3), 0.4)
    >>> bool(np.isclose(negative_free_energy(np.zeros((3, 3)), theta[0], theta)[0], 3 * np.log(2 * np.cosh(0.4))))
    True
    """
    means = np.tanh(theta)
    energy = 0.5 * np.sum((means @ weights) * means, axis=1) + means @ biases
    # Entropy of a spin: log(2 cosh theta) - theta tanh theta.
    size = np.abs(theta)
    entropy = np.sum(size + np.log1p(np.exp(-2.0 * size)) - theta * means, axis=1)
    return np.asarray(energy + entropy, dtype=np.float64)


def _sweep(weights: FloatArray, biases: FloatArray, theta: FloatArray) -> FloatArray:
    means = np.tanh(theta)
    active = np.arange(len(means))
    for _ in range(_MAX_SWEEPS):
        before = means[active]
        new = before.copy()
        for unit in range(means.shape[1]):
            new[:, unit] = np.tanh(biases[unit] + new @ weights[:, unit])
        means[active] = new
        active = active[np.max(np.abs(new - before), axis=1) > _TOLERANCE]
        if not active.size:
            break
    return np.asarray(biases + means @ weights, dtype=np.float64)
