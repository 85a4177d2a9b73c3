"""Weights and biases of published and of own Boltzmann machines. NumPy only: the workflow imports this."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.data.cells import list_values
from auxmc.data.tables import fail, read_arrays, read_matrix
from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.published_files import VARIABLE as DATA_VARIABLE

N_SYSTEMS = 10  # Published systems of 30 units
_SEED = 201702
_EIGENVALUE_SCALE = 6.0
_EIGENVALUE_SLOPE = 2.0
_BIAS_SCALE = 0.1
_SHIFT_FILE = Path("continuous_tempering/derived/bmr_author_D.npz")
_SYMMETRY_TOLERANCE = 1e-10


class BoltzmannParameters(NamedTuple):
    """Parameters of the distribution of spins s in {-1, +1}^n proportional to exp(s^T W s / 2 + s^T b)."""

    weights: FloatArray  # W [unit, unit], symmetric with zero diagonal
    biases: FloatArray  # b [unit]

    @property
    def n_units(self) -> int:
        """Number of spins."""
        return len(self.biases)


def generate_parameters(n_units: int = 30, n_systems: int = N_SYSTEMS) -> list[BoltzmannParameters]:
    """Makes the published systems, in the order of the author's files.

    File 0 holds the system that was generated last, file 1 the first. Weights are R diag(6 tanh(2 n)) R^T without the
    diagonal, with R a random orthogonal matrix and n standard normal; biases are normal with standard deviation 0.1.
    All come from one stream of NumPy's legacy generator, so that the first systems do not depend on `n_systems`.

    Source: PhD thesis, section 5.6.1; seed and order of the author's files.

    >>> float(generate_parameters()[1].biases[0].round(6))
    -0.072102
    """
    if n_units < 2 or n_systems < 1:
        raise ValueError(f"n_units must be at least 2 and n_systems 1, got {n_units} and {n_systems}")
    rng = np.random.RandomState(_SEED)
    generated = []
    for _ in range(n_systems):
        basis = random_orthogonal(rng, n_units)
        eigenvalues = _EIGENVALUE_SCALE * np.tanh(_EIGENVALUE_SLOPE * rng.normal(size=n_units))
        biases = _BIAS_SCALE * rng.normal(size=n_units)
        weights = (basis * eigenvalues) @ basis.T
        weights = 0.5 * (weights + weights.T)
        np.fill_diagonal(weights, 0.0)
        generated.append(BoltzmannParameters(weights, biases))
    return generated[-1:] + generated[:-1]


def random_orthogonal(rng: np.random.RandomState, dim: int) -> FloatArray:
    """Draws a uniform orthogonal matrix [dim, dim], as a product of reflections (Stewart 1980)."""
    matrix = np.eye(dim)
    signs = np.empty(dim)
    for k in range(dim - 2, -1, -1):
        vector = rng.randn(dim - k)
        sign = 1.0 if vector[0] >= 0.0 else -1.0
        length = sign * np.sqrt(np.sum(vector**2))
        signs[k] = -sign
        vector[0] += length
        matrix[k:] -= np.outer(vector, (vector @ matrix[k:]) / (length * vector[0]))
    signs[-1] = 1.0 if rng.uniform() > 0.5 else -1.0
    return matrix * signs[:, None]


def read_parameters(path: str | os.PathLike[str]) -> BoltzmannParameters:
    """Reads weights and biases from a file; raises DataError, naming the place.

    The file is a NumPy archive (`.npz`) with `weights` [unit, unit] and, unless they are zero, `biases` [unit]; or text
    with a row for each unit: its weights and, in a last column unless it is zero, its bias.
    """
    arrays = read_arrays(path) if Path(path).suffix == ".npz" else None
    if isinstance(arrays, dict):
        if "weights" not in arrays:
            fail(
                path,
                f"has no array 'weights' (arrays: {list_values(sorted(arrays))}); name the matrix of weights so",
            )
        weights = arrays["weights"]
        return check_parameters(weights, arrays.get("biases", np.zeros(weights.shape[:1])), os.fspath(path))
    table = read_matrix(path)
    n_rows, n_columns = table.shape
    if n_columns not in (n_rows, n_rows + 1):
        fail(
            path,
            f"has {n_rows} rows and {n_columns} columns; give a row for each unit with its weights to all units, so as "
            "many columns as rows, or one more with the biases",
        )
    biases = table[:, n_rows] if n_columns > n_rows else np.zeros(n_rows)
    return check_parameters(table[:, :n_rows], biases, os.fspath(path))


def check_parameters(weights: ArrayLike, biases: ArrayLike, where: str) -> BoltzmannParameters:
    """Weights [unit, unit] and biases [unit] as parameters; raises DataError, which begins with `where`."""
    w, b = (np.asarray(values, dtype=np.float64) for values in (weights, biases))
    if w.ndim != 2 or w.shape[0] != w.shape[1] or len(w) < 2:
        fail(where, f"weights must be a square matrix of 2 units or more, got shape {list(w.shape)}")
    if b.shape != (len(w),):
        fail(where, f"biases must be a vector of {len(w)} numbers, one a unit, got {list(b.shape)}")
    for name, values in (("weights", w), ("biases", b)):
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            place = ", ".join(str(i + 1) for i in bad[0])
            fail(
                where,
                f"{name}, element ({place}): {values[tuple(bad[0])]} is not a finite number; correct it",
            )
    differences = np.abs(w - w.T)
    i, j = np.unravel_index(np.argmax(differences), w.shape)
    if differences[i, j] > _SYMMETRY_TOLERANCE * max(1.0, float(np.max(np.abs(w)))):
        fail(
            where,
            f"weights are not symmetric: element ({i + 1}, {j + 1}) is {w[i, j]:g} and ({j + 1}, {i + 1}) is "
            f"{w[j, i]:g}; the weight of two units must be the same both ways",
        )
    place_on_diagonal = int(np.argmax(np.abs(np.diag(w))))
    if w[place_on_diagonal, place_on_diagonal] != 0.0:
        k = place_on_diagonal + 1
        fail(
            where,
            f"weights, element ({k}, {k}) is {w[k - 1, k - 1]:g}; the diagonal must be zero: it adds the same constant "
            "to every state",
        )
    return BoltzmannParameters(0.5 * (w + w.T), b)


def published_shift_file() -> Path:
    """File with the diagonals that the author added to the weights; raises DataError without it."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        raise DataError(
            f"shift=published needs the file {_SHIFT_FILE}: set {DATA_VARIABLE} to the folder that holds it, or use "
            "shift=optimal"
        )
    path = Path(folder) / _SHIFT_FILE
    if not path.is_file():
        raise DataError(f"{path}: no such file; {DATA_VARIABLE} must be the folder that holds {_SHIFT_FILE}")
    return path


def published_shift(system: int) -> FloatArray:
    """Diagonal [unit] that the author added to the weights of file 0 to 9, from a solver of low accuracy."""
    with np.load(published_shift_file()) as archive:
        shift: FloatArray = archive[f"D_{system}"]
    return shift
