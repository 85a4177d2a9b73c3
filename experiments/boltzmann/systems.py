"""Exact properties of the systems: generation, relaxation, normalisers, variational fits, samples of figure 5.1."""

import csv
import math
import os
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import least_squares
from scipy.special import logsumexp

from auxmc.approximations.mean_field import boltzmann_mean_field, distinct_fits
from auxmc.diagnostics.tempered_evidence import weighted_moments
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import generator
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.chains import RunContext
from experiments.boltzmann.model import data, machine
from experiments.boltzmann.model.enumeration import SpinMoments, exact_moments, sample_exactly, sign_table
from experiments.boltzmann.problem import PUBLISHED_LEAST_EIGENVALUE, mean_field_starts, relaxation_of
from experiments.boltzmann.settings import PUBLISHED_SYSTEMS, Settings

_SYSTEM_FILES = "continuous_tempering/gaussian-bmr/params_and_moms_{}.npz"
_FIGURE_UNITS = 28
_LARGE_EIGENVALUE = 5.0
# Relative distance of eigenvalues that are the same: equal ones come out 2e-7 apart; with 28 units the next
# is 8e-3 below.
_SAME_EIGENVALUE = 1e-5
_FEW_UNITS = 4


# Values of the author's ten systems of 30 units: elements (1, 2) and (13, 30) of the weights, the first bias; with the
# author's diagonal the log normaliser of the relaxation in nats, the norm of E[x] and the largest eigenvalue of
# the covariance of x; and the log normaliser of the variational base in nats.
# Source: files params_and_moms_i.npz and var_moms_i.npz, i = 0 to 9, of the author's repository.
with PUBLISHED_SYSTEMS.open(newline="", encoding="utf-8") as _file:
    _FILES = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(_file)]


def describe_systems(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Groups `statistics` and `curves`; what needs the author's files is missing unless AUXMC_DATA_DIR leads there."""
    progress = Progress(context.label)
    progress.start(settings.n_systems, 0, 0.0)
    systems = data.generate_parameters(settings.n_units)[: settings.n_systems]
    published = settings.n_units == 30 and bool(os.environ.get(data.DATA_VARIABLE))
    rows = []
    for number, parameters in enumerate(systems):
        rows.append(_describe(settings, parameters, number, published))
        progress.advance(number + 1, 0.0)
    statistics = pd.DataFrame(rows).rename_axis("system").to_xarray()
    statistics = statistics.merge(_spectrum(settings, context)).merge(_exact_samples(settings, context))
    statistics = statistics.merge(_density_of_mixture())
    figure, curves = _figure_5_1(settings, context)
    return {"statistics": statistics.merge(figure), "curves": curves}


def _describe(
    settings: Settings, parameters: data.BoltzmannParameters, number: int, published: bool
) -> dict[str, float]:
    spins = exact_moments(parameters)
    relaxation = relaxation_of(parameters, "optimal", number)
    truth = machine.relaxed_moments(relaxation, spins)
    eigenvalues = np.linalg.eigvalsh(parameters.weights)
    row = {
        "log_z": truth.log_normaliser,
        "dimension": float(relaxation.dim),
        "largest_eigenvalue": float(np.max(np.sum(relaxation.loadings**2, axis=0))),
        "largest_eigenvalue_plain_shift": float(eigenvalues[-1] - eigenvalues[0]),
    }
    starts = mean_field_starts(number, settings.n_fits, parameters.n_units)
    for variant in ("published", "converged"):
        fits = distinct_fits(boltzmann_mean_field(parameters.weights, parameters.biases, starts, variant))
        base = machine.mixture_moments(relaxation, fits)
        row[f"log_zeta_excess_{variant}"] = base.log_normaliser - truth.log_normaliser
        row[f"n_fits_{variant}"] = float(len(fits.means))
        row[f"fit_residual_{variant}"] = float(fits.residual.max())
    if settings.n_units == 30:
        file = _FILES[number]
        row["generation_difference"] = max(
            abs(parameters.weights[0, 1] - file["weight_1_2"]),
            abs(parameters.weights[12, 29] - file["weight_13_30"]),
            abs(parameters.biases[0] - file["bias_1"]),
        )
        stored_excess = file["log_zeta"] - file["log_z"]  # The diagonal adds the same to both
        row["log_zeta_excess_difference"] = abs(row["log_zeta_excess_published"] - stored_excess)
    stored_file = Path(os.environ.get(data.DATA_VARIABLE, "")) / _SYSTEM_FILES.format(number)
    if published and stored_file.is_file():
        with np.load(stored_file) as stored:
            row["generation_difference_all"] = max(
                float(np.max(np.abs(parameters.weights - stored["weights"]))),
                float(np.max(np.abs(parameters.biases - stored["biases"]))),
            )
            moments = stored["expc_x"], stored["covar_x"]
        shift = solved_shift(parameters, spins, *moments, data.published_shift(number))
        exact = machine.relaxed_moments(machine.relax(parameters, shift, PUBLISHED_LEAST_EIGENVALUE), spins)
        largest, norm = float(np.linalg.eigvalsh(exact.covariance)[-1]), float(np.linalg.norm(exact.mean))
        row["predicted_log_z_difference"] = abs(exact.log_normaliser - file["log_z"])
        row["predicted_mean_norm_difference"] = abs(norm / file["mean_norm"] - 1.0)
        row["predicted_variance_difference"] = abs(largest / file["largest_variance"] - 1.0)
    return row


def solved_shift(
    parameters: data.BoltzmannParameters,
    spins: SpinMoments,
    mean: FloatArray,
    covariance: FloatArray,
    start: FloatArray,
) -> FloatArray:
    """The author's diagonal [unit] from his mean [dim] and covariance [dim, dim] of x.

    What it is to predict is not used. The start, from all moments, is rounded to three decimals: it chooses
    the solution, but does not know it.
    """

    def used(mean: FloatArray, covariance: FloatArray) -> FloatArray:
        # Neither the largest eigenvalue nor the norm of the mean: 2 dim - 2 equations.
        variances, directions = np.linalg.eigh(covariance)
        squares = (mean @ directions) ** 2
        return np.concatenate([variances[:-1], squares / squares.sum()])

    def residual(shift: FloatArray) -> FloatArray:
        eigenvalues, vectors = np.linalg.eigh(parameters.weights + np.diag(shift))
        loadings = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0)))[:, -len(mean) :]
        found = machine.relaxed_moments(machine.Relaxation(loadings, parameters.biases, 0.0), spins)
        return used(found.mean, found.covariance) - used(mean, covariance)

    tightest = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)
    solution = least_squares(residual, start.round(3), "3-point", method="lm", **tightest)
    return np.asarray(solution.x, dtype=np.float64)


def _spectrum(settings: Settings, context: RunContext) -> xr.Dataset:
    """Fraction of eigenvalues with modulus above 5, of matrices drawn from the recipe with its diagonal kept."""
    seed = int(generator(context.seed, context.study, "spectra").integers(2**31))
    rng = np.random.RandomState(seed)
    n = settings.n_units
    n_large = 0
    for _ in range(settings.n_spectra):
        basis = data.random_orthogonal(rng, n)
        matrix = (basis * (6.0 * np.tanh(2.0 * rng.normal(size=n)))) @ basis.T
        n_large += int(np.sum(np.abs(np.linalg.eigvalsh(matrix)) > _LARGE_EIGENVALUE))
    exact = math.erfc(0.5 * math.atanh(_LARGE_EIGENVALUE / 6.0) / math.sqrt(2.0))
    return xr.Dataset(
        {"large_eigenvalue_share": n_large / (settings.n_spectra * n), "large_eigenvalue_probability": exact}
    )


def _exact_samples(settings: Settings, context: RunContext) -> xr.Dataset:
    """Means of exact samples against those of the relaxation, in standard errors."""
    parameters = data.generate_parameters(settings.n_units)[0]
    relaxation = relaxation_of(parameters, "optimal", 0)
    truth = machine.relaxed_moments(relaxation, exact_moments(parameters))
    rng = generator(context.seed, context.study, "exact samples")
    spins = sample_exactly(parameters, settings.n_exact_samples, rng)
    samples = machine.relaxed_samples(relaxation, spins, rng)
    errors = samples.std(axis=0, ddof=1) / math.sqrt(len(samples))
    scores = (samples.mean(axis=0) - truth.mean) / errors
    return xr.Dataset({"exact_sample_score": ("direction", scores)}, coords={"direction": range(len(scores))})


def _density_of_mixture() -> xr.Dataset:
    """The relaxation of a few units next to the mixture that it is, and its integral and moments by quadrature."""
    parameters = data.generate_parameters(_FEW_UNITS, 1)[0]
    # The smallest multiple of the identity: its eigenvalue of zero is known to rounding.
    smallest = float(np.linalg.eigvalsh(parameters.weights)[0])
    relaxation = machine.relax(parameters, np.full(_FEW_UNITS, -smallest))
    states = sign_table(_FEW_UNITS)
    logs = 0.5 * np.sum((states @ parameters.weights) * states, axis=1) + states @ parameters.biases
    centres = states @ relaxation.loadings
    # Trapezoids over a normal density are exact to rounding once they are narrow and reach far enough.
    spacing, reach = 0.4, float(np.max(np.abs(centres))) + 9.0
    axis = np.arange(-reach, reach + spacing, spacing)
    grid = np.meshgrid(*[axis] * relaxation.dim, indexing="ij")
    points = np.stack(grid, axis=-1).reshape(-1, relaxation.dim)
    density = np.asarray(jax.jit(jax.vmap(machine.relaxation_log_density(relaxation)))(points))
    spins = exact_moments(parameters)
    log_normaliser = machine.relaxed_moments(relaxation, spins).log_normaliser
    integral = float(logsumexp(density)) + relaxation.dim * math.log(spacing)
    squares = np.sum((points[:, None] - centres) ** 2, axis=2)
    components = logs - logsumexp(logs) - 0.5 * squares - 0.5 * relaxation.dim * math.log(2.0 * math.pi)
    mixture = logsumexp(components, axis=1)
    found = weighted_moments(density, points)
    q = relaxation.loadings
    second = q.T @ spins.second @ q + np.eye(relaxation.dim)
    return xr.Dataset(
        {
            "density_difference": float(np.max(np.abs(density - log_normaliser - mixture))),
            "normaliser_difference": abs(integral - log_normaliser),
            "mean_difference": float(np.max(np.abs(found.mean - q.T @ spins.mean))),
            "second_moment_difference": float(
                np.max(np.abs(found.covariance + np.outer(found.mean, found.mean) - second))
            ),
            "few_units_dimension": relaxation.dim,
        }
    )


def _figure_5_1(settings: Settings, context: RunContext) -> tuple[xr.Dataset, xr.Dataset]:
    """Projections of exact samples of the system of 28 units, and properties that do not depend on a rotation."""
    n_units = min(settings.n_units, _FIGURE_UNITS)
    parameters = data.generate_parameters(n_units, 1)[0]
    relaxation = relaxation_of(parameters, "optimal", 0)
    eigenvalues = np.sum(relaxation.loadings**2, axis=0)
    top = leading(eigenvalues)
    truth = machine.relaxed_moments(relaxation, exact_moments(parameters))
    variances, directions = np.linalg.eigh(truth.covariance[np.ix_(top, top)])
    rng = generator(context.seed, context.study, "figure 5.1")
    spins = sample_exactly(parameters, settings.n_exact_samples, rng)
    samples = machine.relaxed_samples(relaxation, spins, rng)
    principal = samples[:, top] @ directions[:, ::-1]
    if principal.shape[1] == 1:
        principal = np.column_stack([principal, samples[:, np.argsort(eigenvalues)[-2]]])
    plain = samples[:, np.argsort(eigenvalues)[::-1][:2]]
    statistics = xr.Dataset(
        {
            "top_multiplicity": len(top),
            "top_variance": float(variances[-1]),
            "top_clusters": _n_clusters(principal[:, 0]),
        }
    )
    values = np.stack([principal[:, :2], plain])
    curves = xr.Dataset(
        {"projection": (("view", "sample", "axis"), values)},
        coords={"view": ["principal", "published"], "axis": ["x", "y"]},
    )
    return statistics, curves


def leading(eigenvalues: FloatArray) -> IntegerArray:
    """Positions of the eigenvalues that are equal to the largest one, up to the accuracy of the solver [equal]."""
    return np.flatnonzero(eigenvalues > (1.0 - _SAME_EIGENVALUE) * eigenvalues.max())


def _n_clusters(values: FloatArray) -> int:
    """Peaks twice as high as the valleys next to them, of a density with a kernel as wide as a component (1)."""
    grid = np.linspace(values.min() - 3.0, values.max() + 3.0, 400)
    histogram, edges = np.histogram(values, bins=grid)
    centres = 0.5 * (edges[1:] + edges[:-1])
    kernel = np.exp(-0.5 * (centres[:, None] - centres[None]) ** 2)
    density = kernel @ histogram
    n_peaks, valley, peak = 0, 0.0, 0.0
    rising = True
    for value in density:
        if rising:
            peak = max(peak, value)
            if value < 0.5 * peak and peak > 0.05 * density.max():
                n_peaks, valley, rising = n_peaks + 1, value, False
        else:
            valley = min(valley, value)
            if value > 2.0 * valley:
                peak, rising = value, True
    return n_peaks
