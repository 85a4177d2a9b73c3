"""Topic: Boltzmann machines small enough for exact sums, contrastive divergence, and the Gaussian relaxation."""

import math
from collections.abc import Iterable

import numpy as np
import xarray as xr
from scipy.special import logsumexp

from auxmc.diagnostics.finite_chains import second_eigenvalue
from auxmc.numerics.array_types import FloatArray
from experiments.boltzmann.model.enumeration import exact_moments, sign_table
from experiments.boltzmann.model.machine import Relaxation, relax, relaxed_moments
from experiments.foundations.measurements import largest_size
from experiments.foundations.models.relations import (
    condition_on_units,
    log_weights,
)
from experiments.foundations.models.restricted_boltzmann import (
    contrastive_divergence,
    expected_contrastive_divergence,
    likelihood_gradient,
    log_likelihood,
    visible_transition,
)
from experiments.foundations.models.small_machines import LAYER_DATA, five_units, three_by_two
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

_MOST_SWEEPS = 12
_N_ESTIMATES = 4000
# Nodes an axis: the largest exponent, the sum of all loadings, is met to 1e-12.
_N_NODES = 44
# Of central differences, whose error of rounding and of curvature is then some 1e-10.
_STEP = 1e-5


@TOPIC.claim("FN-EB-01")
def restricted_machine(work: Work) -> Lines:
    """Gradient of the likelihood compared with differences of the likelihood."""
    machine = three_by_two()
    found = likelihood_gradient(machine, LAYER_DATA).weights
    differences = np.empty_like(found)
    for unit in np.ndindex(found.shape):
        step = np.zeros_like(found)
        step[unit] = _STEP
        sides = [machine._replace(weights=machine.weights + sign * step) for sign in (1.0, -1.0)]
        high, low = (log_likelihood(side, LAYER_DATA) for side in sides)
        differences[unit] = (high - low) / (2.0 * _STEP)
    return {"gradient less differences of the log likelihood": largest_size(found - differences)}


@TOPIC.claim("FN-EB-02", numbers=["1 sweep", "10 sweeps", "second eigenvalue"])
def divergence_bias(work: Work) -> Lines:
    """Bias of contrastive divergence, and the rate at which it falls."""
    one, ten = _biases((1, 10))
    gradient = largest_size(likelihood_gradient(three_by_two(), LAYER_DATA).weights)
    return {
        "1 sweep": one,
        "10 sweeps": ten,
        "second eigenvalue": second_eigenvalue(visible_transition(three_by_two())),
        "1 sweep, over the largest gradient": one / gradient,
    }


@TOPIC.claim("FN-EB-04")
def relaxation(work: Work) -> Lines:
    """Normaliser and moments of the relaxation by quadrature, and by the relations of the appendix."""
    machine = five_units()
    relaxed = relax(machine, np.full(machine.n_units, -float(np.linalg.eigvalsh(machine.weights)[0])))
    spins = exact_moments(machine)
    log_z, mean, second = relaxation_by_quadrature(relaxed)
    q = relaxed.loadings
    related_second = q.T @ spins.second @ q + np.eye(relaxed.dim)
    log_z_error = relaxed_moments(relaxed, spins).log_normaliser - log_z
    return {
        "log normaliser by relation E.9 less that by quadrature": log_z_error,
        "mean by relation E.10": largest_size(mean - q.T @ spins.mean),
        "second moment by relation E.11": largest_size(second - related_second),
    }


def relaxation_by_quadrature(
    relaxed: Relaxation, n_nodes: int = _N_NODES
) -> tuple[float, FloatArray, FloatArray]:
    """Log normaliser, mean [dim] and second moments [dim, dim] by Gauss and Hermite's rule in every dimension."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    dim = relaxed.dim
    rest = np.stack(np.meshgrid(*(nodes,) * (dim - 1), indexing="ij"), axis=-1).reshape(-1, dim - 1)
    log_rest = np.sum(np.meshgrid(*(np.log(weights),) * (dim - 1), indexing="ij"), axis=0).ravel()
    fields_rest = rest @ relaxed.loadings[:, 1:].T + relaxed.biases
    logs, means, seconds = [], [], []
    # One node of the first dimension after the other: all at once would fill the memory.
    for node, weight in zip(nodes, weights, strict=True):
        fields = fields_rest + node * relaxed.loadings[:, 0]
        log_terms = log_rest + np.sum(np.logaddexp(fields, -fields) - math.log(2.0), axis=1)
        total = float(logsumexp(log_terms))
        distribution = np.exp(log_terms - total)
        mean = distribution @ rest
        logs.append(math.log(weight) + total)
        means.append(np.concatenate([[node], mean]))
        second = np.empty((dim, dim))
        second[0, 0], second[0, 1:], second[1:, 0] = node**2, node * mean, node * mean
        second[1:, 1:] = (rest * distribution[:, None]).T @ rest
        seconds.append(second)
    log_z = float(logsumexp(logs))
    fractions = np.exp(np.array(logs) - log_z)
    return log_z, fractions @ np.array(means), np.einsum("n,nij->ij", fractions, np.array(seconds))


@TOPIC.claim("FN-EB-06")
def conditioned(work: Work) -> Lines:
    """Distribution given two spins, by conditioning the whole distribution and by the machine of the other three."""
    machine, states = five_units(), sign_table(5)
    logs = log_weights(machine, states)
    distances = []
    for spins in sign_table(2):
        chosen = np.all(states[:, :2] == spins, axis=1)
        whole = np.exp(logs[chosen] - logsumexp(logs[chosen]))
        smaller = log_weights(condition_on_units(machine, (0, 1), spins), states[chosen][:, 2:])
        distances.append(0.5 * np.abs(whole - np.exp(smaller - logsumexp(smaller))).sum())
    return {"four conditions": max(distances)}


def _biases(sweeps: Iterable[int]) -> FloatArray:
    """Largest error over the weights of the expectation of contrastive divergence, for each number of sweeps."""
    machine = three_by_two()
    gradient = likelihood_gradient(machine, LAYER_DATA).weights
    expected = (expected_contrastive_divergence(machine, LAYER_DATA, k).weights for k in sweeps)
    return np.array([largest_size(weights - gradient) for weights in expected])


@TOPIC.figure("contrastive_divergence")
def divergence_curves(work: Work) -> Arrays:
    """Bias of contrastive divergence against the number of sweeps, with what simulated estimates leave."""
    machine = three_by_two()
    gradient = likelihood_gradient(machine, LAYER_DATA).weights
    sweeps = range(1, _MOST_SWEEPS + 1)
    n_copies = work.replicates(_N_ESTIMATES)
    data = np.repeat(np.array(LAYER_DATA), n_copies, axis=0)
    streams = ((k, work.rng("divergence", k)) for k in sweeps)
    estimates = (contrastive_divergence(machine, data, k, rng).weights for k, rng in streams)
    simulated = [largest_size(weights - gradient) for weights in estimates]
    along = {"contrastive_divergence_sweeps": list(sweeps)}
    rate = second_eigenvalue(visible_transition(machine))
    return {
        "contrastive_divergence_bias": xr.DataArray(_biases(sweeps), along),
        "contrastive_divergence_simulated": xr.DataArray(simulated, along),
        "contrastive_divergence_rate": xr.DataArray(rate),
        "contrastive_divergence_n_copies": xr.DataArray(float(n_copies)),
    }
