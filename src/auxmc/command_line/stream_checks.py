"""What can be told of a streaming run before it begins: whether it fits into memory, whether it is stable, its bias."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.kernels.streams.contract import StreamSettings
from auxmc.models.row_model import RowModel

__all__ = [
    "RowCurvature",
    "available_bytes",
    "bias_per_row",
    "needed_bytes",
    "row_curvature",
    "stability_limit",
]

_MOST_PARAMETERS = 1000
_N_START_DRAWS = 256
# Intermediate arrays that are alive at the same time, in units of the largest.
_ALIVE = 3


class RowCurvature(NamedTuple):
    """Curvature of the log likelihood of a row, mean over rows.

    Attributes:
        largest: largest eigenvalue.
        trace: sum of the eigenvalues.
    """

    largest: float
    trace: float


def needed_bytes(model: RowModel, settings: Any, chunk_rows: int, dtype: Any) -> int:
    """Estimate of the memory that a run needs while a chunk is absorbed, past rows kept in memory apart.

    Args:
        model: the model.
        settings: of any of the estimators; those with a batch size gather all past rows of an annealing step at once.
        chunk_rows: rows of a chunk.
        dtype: of rows and particles.

    Returns:
        Bytes, from shapes alone: nothing is compiled or allocated.
    """
    number = jnp.dtype(dtype).itemsize
    n, batch = settings.n_particles, getattr(settings, "batch_size", 0)
    gathered = settings.n_moves * n * (batch * (model.n_columns * number + 8) + model.dim * number)
    n_rows = max(chunk_rows, batch)
    shape = jax.ShapeDtypeStruct
    particles, rows = shape((n, model.dim), dtype), shape((n_rows, model.n_columns), dtype)
    weights = shape((n_rows,), dtype)
    largest = max(
        _largest_array(jax.vmap(model.log_likelihood, (0, None)), particles, rows),
        _largest_array(jax.vmap(model.weighted_gradient, (0, None, None)), particles, rows, weights),
    )
    return int(4 * n * model.dim * number + gathered + _ALIVE * largest)


def available_bytes() -> int | None:
    """Memory that may still be used: of the device where it has its own, else of the machine or its container.

    Returns:
        Bytes; None where the system does not say.
    """
    device = jax.devices()[0]
    if device.platform != "cpu":
        told = device.memory_stats() or {}
        limit = told.get("bytes_limit")
        return None if limit is None else int(limit - told.get("bytes_in_use", 0))
    found = [
        value for value in (_available_on_linux(), _left_in_container(), _physical()) if value is not None
    ]
    return min(found, default=None)


def row_curvature(model: RowModel, rows: Array, key: Array) -> RowCurvature | None:
    """Observed information of a row at a likely point.

    Args:
        model: the model.
        rows: first rows of the stream [row, column].
        key: of draws from the prior; the point is the one that gives the rows the highest likelihood.

    Returns:
        None for more than a thousand parameters, or where the curvature is not finite.
    """
    if model.dim > _MOST_PARAMETERS:
        return None
    draws = jax.vmap(model.draw_prior)(jax.random.split(key, _N_START_DRAWS))
    scores = jax.lax.map(lambda draw: jnp.sum(model.log_likelihood(draw, rows)), draws)
    best = draws[jnp.argmax(jnp.where(jnp.isfinite(scores), scores, -jnp.inf))]
    weights = jnp.full(rows.shape[0], 1.0 / rows.shape[0], rows.dtype)
    curvature = -np.asarray(jax.jacfwd(lambda point: model.weighted_gradient(point, rows, weights))(best))
    if not np.isfinite(curvature).all():
        return None
    values = np.linalg.eigvalsh(0.5 * (curvature + curvature.T))
    return RowCurvature(float(values[-1]), float(values.sum()))


def stability_limit(settings: StreamSettings) -> float:
    """Largest curvature of a row for which stochastic gradients stay stable: 2 (2 - alpha) / learning rate.

    Source: stationary law of the update on a quadratic; the spread diverges where eta k reaches 2 (2 - alpha).
    """
    return 2.0 * (2.0 - settings.friction) / settings.learning_rate


def bias_per_row(settings: StreamSettings, curvature: RowCurvature) -> float | None:
    """Nats a row by which the annealed estimate falls short on a long stream.

    The noise of the gradients keeps particles as wide as a posterior of some thousand rows, however many there are.

    Args:
        settings: of the estimator.
        curvature: of a row.

    Returns:
        learning rate * trace / (4 alpha batch size), a positive number; None for settings to which that does not apply:
        another estimator, resampling, cooling, or control variates.
    """
    plain = (
        settings.estimator == "annealed" and settings.resampling == "none" and settings.cooling_rows is None
    )
    if not plain or settings.control_variates:
        return None
    return settings.learning_rate * curvature.trace / (4.0 * settings.friction * settings.batch_size)


def _largest_array(function: Callable[..., Any], *shapes: jax.ShapeDtypeStruct) -> int:
    sizes = [0]

    def visit(program: Any) -> None:
        for equation in program.eqns:
            for variable in equation.outvars:
                shape = getattr(variable.aval, "shape", ())
                dtype = getattr(variable.aval, "dtype", None)
                sizes.append(int(np.prod(shape, dtype=np.float64)) * getattr(dtype, "itemsize", 8))
            for inner in jax.tree.leaves(
                list(equation.params.values()), is_leaf=lambda p: hasattr(p, "jaxpr")
            ):
                if hasattr(inner, "jaxpr"):
                    visit(inner.jaxpr)

    visit(jax.make_jaxpr(function)(*shapes).jaxpr)
    return max(sizes)


def _available_on_linux() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _left_in_container() -> int | None:
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            return int(Path(limit).read_text(encoding="utf-8")) - int(Path(used).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # No container, or "max": no limit.
            continue
    return None


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
