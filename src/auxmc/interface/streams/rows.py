"""Models of independent rows with named parameters, and the rows themselves, checked."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import checkify

from auxmc.data.cells import read_floats
from auxmc.data.tables import rows_in_memory
from auxmc.interface.advice import Advice
from auxmc.interface.arguments import check_callable, require_x64
from auxmc.interface.checks.densities import advise_precision, reject_steps
from auxmc.interface.layout import Layout, layout_of, named, variables
from auxmc.interface.methods import evaluated, evaluated_number, follows_its_key
from auxmc.models.row_model import RowModel
from auxmc.models.row_model import row_model as vector_row_model
from auxmc.models.user_model import check_model
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.programs import coarse_in_float32
from auxmc.numerics.values import by_value

_BLOCK_ROWS = 32_768
# Draws of the prior at which derivatives are examined.
_N_DRAWS = 8


@by_value
class RowsModel(NamedTuple):
    """A model of independent rows with named parameters, with the `layout` of these; `row_model` makes it."""

    log_likelihood: Callable[[Any, Array], Array]
    log_prior: Callable[[Any], Array]
    draw_prior: Callable[[Array], Any]
    layout: Layout

    def __repr__(self) -> str:
        """Its parameters."""
        return f"RowsModel of {', '.join(self.layout.names)} ({self.layout.dim} numbers)"

    def on_vectors(self, n_columns: int) -> RowModel:
        """The same model as kernels want it, of rows with so many numbers."""
        tree = self.layout.tree
        return vector_row_model(
            self.layout.dim,
            n_columns,
            lambda vector, rows: self.log_likelihood(tree(vector), rows),
            lambda vector: self.log_prior(tree(vector)),
            lambda key: self.layout.vector(self.draw_prior(key)),
            natural=lambda vector: named(tree(vector)),
        )


def row_model(
    log_likelihood: Callable[[Any, Array], Array],
    log_prior: Callable[[Any], Array],
    draw_prior: Callable[[Array], Any],
) -> RowsModel:
    """A model whose rows are independent given real parameters without bounds.

    Args:
        log_likelihood: maps (parameters, rows [row, column]) to log p(row | parameters) of each row [row], in nats;
            written with `jax.numpy`, twice differentiable.
        log_prior: maps parameters to their log prior density, Jacobians of transforms included. For
            `auxmc.stream_evidence` and `auxmc.growing_data` a constant may be missing, for their evidence is a mean
            over draws of the prior; `auxmc.laplace_evidence` is off by a constant that is.
        draw_prior: maps a JAX key to parameters, a pytree of arrays; exact draws of the same prior.

    Raises:
        TypeError: a function cannot be traced.
        ValueError: `log_prior` returns no scalar, a name cannot be kept, or `draw_prior` does not follow its key.

    >>> import auxmc
    >>> auxmc.enable_x64()
    >>> model = auxmc.row_model(
    ...     lambda p, rows: -0.5 * (rows[:, 0] - p["mean"]) ** 2,
    ...     lambda p: -0.5 * p["mean"] ** 2,
    ...     lambda key: {"mean": jax.random.normal(key)},
    ... )
    >>> model.layout.names
    ('mean',)
    """
    require_x64()
    check_callable("log_likelihood", log_likelihood, "maps parameters and rows to log likelihoods [row]")
    check_callable("log_prior", log_prior, "maps parameters to their log prior density")
    check_callable("draw_prior", draw_prior, "maps a key to parameters")
    shapes = evaluated("draw_prior", draw_prior, jax.random.key(0))
    if not jax.tree.leaves(shapes):
        raise ValueError("draw_prior must return parameters, arrays by name, got none")
    follows_its_key("draw_prior", draw_prior)
    evaluated_number("log_prior", log_prior, shapes)
    return RowsModel(log_likelihood, log_prior, draw_prior, variables("draw_prior", shapes))


class Rows(NamedTuple):
    """Rows to be read once, in order."""

    n_columns: int  # numbers in a row
    n_rows: int | None  # how many there are; None where that is not known
    first: FloatArray  # the first of them [row, column], to try a model on
    # Maps a number of rows to leave out, and their checksum where it is known, to an iterator over blocks [row,
    # column]; a ValueError where there are fewer, or others.
    read: Callable[..., Iterator[FloatArray]]


def read_rows(rows: Any, n_first: int) -> Rows:
    """Makes rows of what a user gives, looking at the first `n_first`; rejects what is none (TypeError, ValueError)."""
    if isinstance(rows, (str, bytes, dict)) or not (hasattr(rows, "__array__") or isinstance(rows, Iterable)):
        expected = "an array [row, column], a list of arrays, or an iterator over arrays"
        raise TypeError(f"rows must be {expected}, got {type(rows).__name__}")
    n_rows, blocks, is_list = None, _blocks(rows), isinstance(rows, (list, tuple))
    if is_list and any(hasattr(block, "__array__") and np.ndim(block) == 2 for block in rows):
        n_rows = sum(map(len, rows))
    elif is_list or hasattr(rows, "__array__"):
        whole, _ = _block(rows, 0, ())
        n_rows = len(whole)
        blocks = (whole[i : i + _BLOCK_ROWS] for i in range(0, n_rows, _BLOCK_ROWS))
    kept: list[FloatArray] = []
    while sum(map(len, kept)) < n_first and (block := next(blocks, None)) is not None:
        kept.append(block)
    if not sum(map(len, kept)):
        raise ValueError("rows is empty: there is nothing to have an evidence of")
    first = np.concatenate(kept)[:n_first]

    def read(n_left_out: int, checksum: int = 0) -> Iterator[FloatArray]:
        left, found = n_left_out, 0
        for block in chain(kept, blocks):
            found = zlib.crc32(block[:left].tobytes(), found)
            if 0 < left <= len(block) and checksum not in (0, found):
                absorbed = f"one of the {n_left_out} rows that were absorbed before has changed"
                raise ValueError(f"checkpoint: {absorbed}: give the same rows again, or another folder")
            if left < len(block):
                yield block[left:]
            left = max(0, left - len(block))
        if left:
            there = f"{n_left_out} rows were absorbed before, but rows has {n_left_out - left}"
            raise ValueError(f"checkpoint: {there}: give all rows again, or another folder")

    return Rows(first.shape[1], n_rows, first, read)


def checked_model(model: RowsModel | RowModel, rows: Rows, key: Array) -> tuple[RowModel, list[Advice]]:
    """The model on vectors, tried on rows at draws from its prior, and what is to be said about it."""
    layout = model.layout if isinstance(model, RowsModel) else None
    if isinstance(model, RowsModel):
        shape = jax.ShapeDtypeStruct(rows.first.shape, jnp.float64)
        drawn = evaluated("draw_prior", model.draw_prior, jax.random.key(0))
        evaluated("log_likelihood", model.log_likelihood, drawn, shape)
        _check_columns(model, rows)
        model = model.on_vectors(rows.n_columns)
    if not isinstance(model, RowModel):
        maker = "auxmc.row_model(log_likelihood, log_prior, draw_prior)"
        raise TypeError(f"model must be what {maker} makes, got {type(model).__name__}")
    if model.n_columns != rows.n_columns:
        raise ValueError(f"the model is one of rows of {model.n_columns} numbers, rows have {rows.n_columns}")
    first = jnp.asarray(rows.first)
    fix = "See auxmc.row_model for what is wanted"
    said = [Advice(text, fix) for text in check_model(model, first, key, "model")]
    draws = jax.vmap(model.draw_prior)(jax.random.split(jax.random.fold_in(key, 2), _N_DRAWS))
    both = lambda v: model.log_likelihood(v, first) + model.log_prior(v)  # noqa: E731
    said += advise_precision("the model", both, draws[0])
    said += _beyond_the_end(model, draws[0], first)
    weights = jnp.ones(len(first))
    gradients = jax.jit(jax.vmap(lambda v: model.weighted_gradient(v, first, weights)))(draws)
    layout = layout or layout_of({"parameters": jax.ShapeDtypeStruct((model.dim,), jnp.float64)})
    total = lambda v: jnp.sum(model.log_likelihood(v, first))  # noqa: E731
    reject_steps("log_likelihood", total, np.asarray(draws), np.asarray(gradients), layout)
    return model, said


def _beyond_the_end(model: RowModel, parameters: Array, rows: Array) -> list[Advice]:
    """JAX reads the last element in place of one beyond the end, so that a class that is none counts as another."""
    try:
        checked = checkify.checkify(model.log_likelihood, errors=checkify.index_checks)
        found = checked(parameters, rows)[0].get()
    except Exception:  # what cannot be looked at so is not said to be wrong
        return []
    if found is None:
        return []
    where = f"where JAX takes another element ({found.splitlines()[0]})"
    fix = "Look whether the rows hold a class or an index that the parameters have not"
    return [Advice(f"log_likelihood reads an array beyond its end, {where}", fix)]


def _check_columns(model: RowsModel, rows: Rows) -> None:
    """NumPy rejects a column that is not there, where JAX takes the last one without a word."""
    position = jax.tree.map(np.asarray, model.draw_prior(jax.random.key(0)))
    with np.errstate(all="ignore"):
        try:
            model.log_likelihood(position, np.asarray(rows.first))  # type: ignore[arg-type]
        except IndexError as error:
            there = f"they have columns 0 to {rows.n_columns - 1} ({error})"
            raise ValueError(f"log_likelihood reads what rows do not have: {there}") from error
        except Exception:  # written for arrays of JAX alone: nothing to say
            return


def _blocks(rows: Iterable[Any]) -> Iterator[FloatArray]:
    n_rows = 0
    names: tuple[str, ...] = ()
    for given in rows:
        block, names = _block(given, n_rows, names)
        n_rows += len(block)
        if len(block):
            yield block


def _block(given: Any, n_before: int, names: tuple[str, ...]) -> tuple[FloatArray, tuple[str, ...]]:
    """Numbers of a block, those of a frame in the order of the names of the first, and these names."""
    cells = rows_in_memory(given, "rows", n_before, names)
    block = read_floats(cells)
    types = [getattr(column, "dtype", None) for column in cells.columns]
    single = np.array([dtype in (np.float32, np.float16) for dtype in types])
    if len(block) and np.any(lost := single & coarse_in_float32(block)):
        column = int(np.argmax(lost))
        advice = "make it with NumPy in float64, or call auxmc.enable_x64() before jax.numpy makes arrays"
        raise ValueError(f"rows: column {cells.names[column]} lost digits in {types[column]}: {advice}")
    return block, names or cells.names
