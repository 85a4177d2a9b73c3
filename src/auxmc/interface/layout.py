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


class Layout(NamedTuple):
    """How a pytree of variables lies in a vector.

    Shapes and names, such as "noise.scale", are of its leaves; transforms, by name, of those that are others there.
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
        found, places = list[tuple[int, float]](), self._parts(np.arange(self.dim))
        for i, transform in self._transformed():
            for end in transform.ends:
                # Numbers also where the model is made inside a traced function.
                with jax.ensure_compile_time_eval():
                    inner = np.asarray(transform.inverse(end))
                is_finite = np.isfinite(inner)
                found += zip(places[i][is_finite].tolist(), inner[is_finite].tolist(), strict=True)
        return found

    def coordinates(self) -> list[str]:
        """Name of each number of the vector, such as "rates[2]" [dim]."""
        return element_names(zip(self.names, self._inner_shapes(), strict=True))

    def _parts(self, vector: Any) -> list[Any]:
        """Numbers of each leaf in a vector [dim]."""
        parts, first = [], 0
        for shape in self._inner_shapes():
            size = math.prod(shape)
            parts.append(vector[first : first + size].reshape(shape))
            first += size
        return parts

    def tree(self, vector: Array) -> Any:
        """Variables from a vector [dim]."""
        leaves = self._parts(vector)
        for i, transform in self._transformed():
            leaves[i] = transform.forward(leaves[i])
        return jax.tree.unflatten(self.structure, leaves)

    def vector(self, tree: Any) -> Array:
        """The vector [dim] of variables."""
        parts = jax.tree.leaves(tree)
        for i, transform in self._transformed():
            parts[i] = transform.inverse(parts[i])
        return jnp.concatenate([jnp.ravel(part) for part in parts])

    def filled(self, key: Array, vector: Array) -> Array:
        """The vector [dim] with what its variables do not determine drawn again."""
        parts = self._parts(vector)
        for i, transform in self._transformed():
            parts[i] = transform.fill(jax.random.fold_in(key, i), parts[i])
        return jnp.concatenate([jnp.ravel(part) for part in parts])

    def log_volume(self, vector: Array) -> Array:
        """Log of the factor by which the map to the variables changes volumes at a vector [dim], in nats."""
        parts = self._parts(vector)
        return sum((transform.log_volume(parts[i]) for i, transform in self._transformed()), jnp.zeros(()))

    def _transformed(self) -> list[tuple[int, Transform]]:
        """Numbers of the leaves that are transformed, and their transforms."""
        return [(i, self.transforms[name]) for i, name in enumerate(self.names) if name in self.transforms]

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
                wanted = f"{shape}, or {whole} for chains"
                raise ValueError(f"{name}: {variable} must have shape {wanted}, got {leaf.shape}")
            if variable in self.transforms:
                transform = self.transforms[variable]
                # Numbers also where the model is made inside a traced function.
                with jax.ensure_compile_time_eval():
                    leaf = np.stack([np.asarray(transform.inverse(one)) for one in leaf])
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
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    own = {f"{name}_dim_{i}" for name, (_, leaf) in zip(names, leaves, strict=True) for i in range(leaf.ndim)}
    for name in names:
        for is_wrong, why in (
            (name in ("chain", "draw"), "is a dimension of every variable"),
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
    return {jax.tree_util.keystr(path, simple=True, separator=".") or "x": leaf for path, leaf in paths}


def element_names(shapes: Iterable[tuple[str, tuple[int, ...]]]) -> list[str]:
    """Name of each number of variables (name, shape), such as "rates[2]"."""
    return [
        f"{name}[{', '.join(map(str, place))}]" if place else name
        for name, shape in shapes
        for place in np.ndindex(*shape)
    ]
