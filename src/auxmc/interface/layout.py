"""Named variables and the vector that kernels move: a pytree of arrays, flattened."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.precision import float64_tree

__all__ = ["Layout", "layout_of", "named", "start_variables", "variables"]

# Of every variable that is kept.
_DIMENSIONS = ("chain", "draw")


class Layout(NamedTuple):
    """How a pytree of variables lies in a vector.

    Attributes:
        structure: of the pytree.
        shapes: of its leaves.
        names: of its leaves, such as "rates" or "noise.scale".
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    @property
    def dim(self) -> int:
        """Length of the vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    def coordinates(self) -> list[str]:
        """Name of each number of the vector, such as "rates[2]" [dim]."""
        return [
            f"{name}[{', '.join(map(str, place))}]" if place else name
            for name, shape in zip(self.names, self.shapes, strict=True)
            for place in np.ndindex(*shape)
        ]

    def tree(self, vector: Array) -> Any:
        """Variables from a vector [dim]."""
        leaves, first = [], 0
        for shape in self.shapes:
            size = math.prod(shape)
            leaves.append(vector[first : first + size].reshape(shape))
            first += size
        return jax.tree.unflatten(self.structure, leaves)

    def vector(self, tree: Any) -> Array:
        """The vector [dim] of variables."""
        return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)])

    def starts(self, name: str, tree: Any, n_chains: int) -> np.ndarray:
        """Vectors [chain, dim] of one position, or of one for each chain: every leaf with a leading axis of chains.

        Args:
            name: what is given, for messages.
            tree: the variables.
            n_chains: number of chains.

        Raises:
            TypeError: as `float64_tree`.
            ValueError: the structure or a shape is another, or a value is not finite.
        """
        given = float64_tree(name, tree)
        if jax.tree.structure(given) != self.structure:
            found = f"an array of shape {given.shape}" if isinstance(given, np.ndarray) else _names(given)
            raise ValueError(
                f"{name} must have the variables {', '.join(self.names)}, in a dictionary or tree like that of the "
                f"model, got {found}"
            )
        rows = []
        for variable, shape, leaf in zip(self.names, self.shapes, jax.tree.leaves(given), strict=True):
            if leaf.shape == shape:
                leaf = np.broadcast_to(leaf, (n_chains, *shape))
            if leaf.shape != (n_chains, *shape):
                raise ValueError(
                    f"{name}: {variable} must have shape {shape}, or {(n_chains, *shape)}, one value for each "
                    f"chain, got {leaf.shape}"
                )
            rows.append(leaf.reshape(n_chains, -1))
        return np.concatenate(rows, axis=1)


def layout_of(tree: Any) -> Layout:
    """The layout of a pytree of arrays or of `jax.ShapeDtypeStruct`."""
    leaves, structure = jax.tree.flatten(tree)
    return Layout(structure, tuple(tuple(leaf.shape) for leaf in leaves), tuple(named(tree)))


def variables(what: str, tree: Any) -> Layout:
    """The layout of a pytree whose leaves are variables that are kept by name.

    Args:
        what: the function's argument, for messages.
        tree: arrays or `jax.ShapeDtypeStruct`.

    Raises:
        TypeError: a key is no text.
        ValueError: a name cannot be one of a variable, or stands for two.
    """
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    if any(not isinstance(getattr(key, "key", ""), str) for path, _ in leaves for key in path):
        raise TypeError(f"{what}: the keys of a dictionary must all be text")
    names = [".".join(_word(key) for key in path) for path, _ in leaves]
    own = {f"{name}_dim_{i}" for name, (_, leaf) in zip(names, leaves, strict=True) for i in range(leaf.ndim)}
    for name in names:
        if name in _DIMENSIONS:
            raise ValueError(
                f"{what}: {name!r} is a dimension of every variable; give that variable another name"
            )
        if name in own:
            raise ValueError(
                f"{what}: {name!r} is a dimension of another variable in results; give one another name"
            )
        if "/" in name:
            raise ValueError(
                f"{what}: {name!r} has a '/', which separates groups in results; give it another name"
            )
        if names.count(name) > 1:
            raise ValueError(
                f"{what}: two variables would be called {name!r} in results; give one another name"
            )
    return layout_of(tree)


def start_variables(start: Any) -> tuple[Any, Layout]:
    """Variables to begin at as arrays of float64, and their layout.

    Raises:
        TypeError: as `float64_tree` and `variables`.
        ValueError: as these, or there is no number among them.
    """
    begin = float64_tree("start", start)
    layout = variables("start", begin)
    if layout.dim == 0:
        raise ValueError("start has no numbers: give the variables that the log density is of")
    return begin, layout


def named(tree: Any) -> dict[str, Any]:
    """Leaves of a pytree by name: keys joined by points; a single array is called "x"."""
    paths = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {".".join(_word(key) for key in path) or "x": leaf for path, leaf in paths}


def _names(tree: Any) -> str:
    return ", ".join(named(tree)) or "none"


def _word(key: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)
