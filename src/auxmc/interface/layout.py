"""Named variables and the vector that kernels move: a pytree of arrays, flattened."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.arguments import float64_tree
from auxmc.interface.transforms import Transform

# Of every variable that is kept.
_DIMENSIONS = ("chain", "draw")


class Layout(NamedTuple):
    """How a pytree of variables lies in a vector.

    Attributes:
        structure: of the pytree.
        shapes: of its leaves.
        names: of its leaves, such as "rates" or "noise.scale".
        transforms: of leaves whose numbers in the vector are others than their values, by name.
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    transforms: Mapping[str, Transform] = {}

    @property
    def dim(self) -> int:
        """Length of the vector."""
        return sum(math.prod(shape) for shape in self._inner_shapes())

    @property
    def named_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the leaves by name."""
        return dict(zip(self.names, self.shapes, strict=True))

    def _inner_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the leaves in the vector."""
        return [
            self.transforms[name].shape if name in self.transforms else shape
            for name, shape in self.named_shapes.items()
        ]

    def plain(self) -> "Layout":
        """The layout of the numbers in the vector, as they are."""
        return Layout(self.structure, tuple(self._inner_shapes()), self.names)

    def ends(self) -> list[tuple[int, float]]:
        """Place in the vector of each number with a bound, and where its value is the number next to that bound."""
        found, first = list[tuple[int, float]](), 0
        for name, shape in zip(self.names, self._inner_shapes(), strict=True):
            for end in self.transforms[name].ends if name in self.transforms else ():
                # Numbers also where the model is made inside a traced function.
                with jax.ensure_compile_time_eval():
                    inner = np.asarray(self.transforms[name].inverse(jnp.asarray(end))).ravel()
                found += [(first + int(k), float(inner[k])) for k in np.flatnonzero(np.isfinite(inner))]
            first += math.prod(shape)
        return found

    def coordinates(self) -> list[str]:
        """Name of each number of the vector, such as "rates[2]" [dim]."""
        return element_names(zip(self.names, self._inner_shapes(), strict=True))

    def _parts(self, vector: Array) -> list[Array]:
        """Numbers of each leaf in a vector [dim]."""
        parts, first = [], 0
        for shape in self._inner_shapes():
            size = math.prod(shape)
            parts.append(vector[first : first + size].reshape(shape))
            first += size
        return parts

    def tree(self, vector: Array) -> Any:
        """Variables from a vector [dim]."""
        leaves = [
            self.transforms[name].forward(part) if name in self.transforms else part
            for name, part in zip(self.names, self._parts(vector), strict=True)
        ]
        return jax.tree.unflatten(self.structure, leaves)

    def vector(self, tree: Any) -> Array:
        """The vector [dim] of variables."""
        leaves = zip(self.names, jax.tree.leaves(tree), strict=True)
        inner = [
            self.transforms[name].inverse(leaf) if name in self.transforms else leaf for name, leaf in leaves
        ]
        return jnp.concatenate([jnp.ravel(leaf) for leaf in inner])

    def filled(self, key: Array, vector: Array) -> Array:
        """The vector [dim] with what its variables do not determine drawn again."""
        parts = [
            self.transforms[name].fill(jax.random.fold_in(key, i), part) if name in self.transforms else part
            for i, (name, part) in enumerate(zip(self.names, self._parts(vector), strict=True))
        ]
        return jnp.concatenate([jnp.ravel(part) for part in parts])

    def log_volume(self, vector: Array) -> Array:
        """Log of the factor by which the map to the variables changes volumes at a vector [dim], in nats."""
        total = jnp.zeros(())
        for name, part in zip(self.names, self._parts(vector), strict=True):
            if name in self.transforms:
                total += self.transforms[name].log_volume(part)
        return total

    def starts(self, name: str, tree: Any, n_chains: int) -> np.ndarray:
        """Vectors [chain, dim] of one position, or of one for each chain: every leaf with a leading axis of chains."""
        given = float64_tree(name, tree)
        if jax.tree.structure(given) != self.structure:
            found = ", ".join(named(given)) or "none"
            found = f"an array of shape {given.shape}" if isinstance(given, np.ndarray) else found
            like = "in a dictionary or tree like that of the model"
            raise ValueError(f"{name} must have the variables {', '.join(self.names)}, {like}, got {found}")
        rows = []
        for variable, shape, leaf in zip(self.names, self.shapes, jax.tree.leaves(given), strict=True):
            whole = (n_chains, *shape)
            if leaf.shape == shape:
                leaf = np.broadcast_to(leaf, whole)
            if leaf.shape != whole:
                raise ValueError(
                    f"{name}: {variable} must have shape {shape}, or {whole} for chains, got {leaf.shape}"
                )
            if variable in self.transforms:
                transform = self.transforms[variable]
                # Numbers also where the model is made inside a traced function.
                with jax.ensure_compile_time_eval():
                    leaf = np.asarray(jax.vmap(transform.inverse)(jnp.asarray(leaf)))
                if not np.all(np.isfinite(leaf)):
                    raise ValueError(f"{name}: {variable} must lie inside {transform.name}")
            rows.append(leaf.reshape(n_chains, -1))
        return np.concatenate(rows, axis=1)


def layout_of(tree: Any) -> Layout:
    """The layout of a pytree of arrays or of `jax.ShapeDtypeStruct`."""
    leaves, structure = jax.tree.flatten(tree)
    return Layout(structure, tuple(tuple(leaf.shape) for leaf in leaves), tuple(named(tree)))


def variables(what: str, tree: Any) -> Layout:
    """The layout of a pytree whose leaves are kept by name; rejects other keys (TypeError) and names (ValueError)."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    if any(not isinstance(getattr(key, "key", ""), str) for path, _ in leaves for key in path):
        raise TypeError(f"{what}: the keys of a dictionary must all be text")
    names = [".".join(_word(key) for key in path) for path, _ in leaves]
    own = {f"{name}_dim_{i}" for name, (_, leaf) in zip(names, leaves, strict=True) for i in range(leaf.ndim)}
    for name in names:
        for is_wrong, why in (
            (name in _DIMENSIONS, "is a dimension of every variable"),
            (name in own, "is a dimension of another variable"),
            ("/" in name, "has a '/', which separates groups"),
            (names.count(name) > 1, "is the name of two variables"),
        ):
            if is_wrong:
                raise ValueError(f"{what}: {name!r} {why} in results; give that variable another name")
    return layout_of(tree)


def start_variables(start: Any) -> tuple[Any, Layout]:
    """Variables to begin at as arrays of float64, and their layout; rejects those without a number."""
    begin = float64_tree("start", start)
    layout = variables("start", begin)
    if layout.dim == 0:
        raise ValueError("start has no numbers: give the variables that the log density is of")
    return begin, layout


def named(tree: Any) -> dict[str, Any]:
    """Leaves of a pytree by name: keys joined by points; a single array is called "x"."""
    paths = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {".".join(_word(key) for key in path) or "x": leaf for path, leaf in paths}


def element_names(shapes: Iterable[tuple[str, tuple[int, ...]]]) -> list[str]:
    """Name of each number of variables (name, shape), such as "rates[2]"."""
    return [
        f"{name}[{', '.join(map(str, place))}]" if place else name
        for name, shape in shapes
        for place in np.ndindex(*shape)
    ]


def _word(key: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)
