"""A jump to a mirror image after every update: chains cross between modes that a symmetry of the model joins."""

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.arguments import check_callable, check_instance
from auxmc.interface.methods import Method, evaluated
from auxmc.kernels.base import Kernel, select

_ROUNDING = 1e-9


def with_symmetry(method: Method, images: Callable[[Any], Any] | Sequence[Callable[[Any], Any]]) -> Method:
    """A method that after each of its updates proposes to jump to a mirror image of where it is.

    A mirror image is a change of signs, an exchange of variables, or another rotation or reflection that undoes itself.
    The jump is accepted with the ratio of the densities: the draws are exact whether the model has the symmetry or has
    it roughly, and jumps are rare where it has not. One update more is the evaluation of one point.

    Args:
        method: `auxmc.hmc`, `auxmc.constrained_hmc` or `auxmc.constrained_nuts` of a model.
        images: maps the variables that chains move, a pytree like a start, to their mirror image; or several such
            functions, of which each update draws one. Variables of a simulator are its inputs in standard form, as
            `auxmc.start_on_manifold` returns them: symmetric about zero for a uniform distribution, whatever its ends.

    Raises:
        TypeError: the method cannot take jumps, or takes some already; an image is no function, or cannot be traced.
        ValueError: an image has other variables or shapes, does not undo itself, or changes distances.

    Source: Metropolis-Hastings with a deterministic involution, Tierney 1998, "A note on Metropolis-Hastings kernels
    for general state spaces", section 2; where the image keeps distances, so it keeps areas on a manifold.

    >>> import auxmc, jax.numpy as jnp
    >>> auxmc.enable_x64()
    >>> model = auxmc.density(lambda v: -((v["x"] ** 2 - 9.0) ** 2), start={"x": 3.0})
    >>> method = auxmc.with_symmetry(auxmc.hmc(model), lambda v: {"x": -v["x"]})
    >>> method.name
    'hmc with symmetry'
    """
    check_instance("method", method, Method, "auxmc.hmc(model) or the like")
    if method.log_target is None:
        expected = "nuts, hmc, constrained_hmc or constrained_nuts without jumps"
        raise TypeError(f"method: expected {expected}. Give several images in one list")
    log_target = method.log_target
    what = "maps the variables to their mirror image"
    if not callable(images) and not isinstance(images, Sequence):
        got = type(images).__name__
        raise TypeError(f"images must be a function that {what}, or a list of such functions, got {got}")
    functions = {"images": images} if callable(images) else {f"images[{i}]": f for i, f in enumerate(images)}
    if not functions:
        raise ValueError(f"images is empty: give a function that {what}")
    for name, own in functions.items():
        check_callable(name, own, what)
        _check(method, own, name)
    maps = [lambda x, f=f: method.layout.vector(f(method.layout.tree(x))) for f in functions.values()]

    def build(*scales: Array) -> Kernel:
        kernel = method.build(*scales)

        def draw(key: Array) -> tuple[Any, Array, Array]:
            own = jax.random.fold_in(key, 101)
            image = jax.random.randint(jax.random.fold_in(own, 0), (), 0, len(maps), jnp.int32)
            return kernel.draw(key), image, -jax.random.exponential(jax.random.fold_in(own, 1))

        def apply(noise: tuple[Any, Array, Array], state: Any) -> tuple[Any, Any]:
            inner, chosen, log_uniform = noise
            state, info = kernel.apply(inner, state)
            image = kernel.init(jax.lax.switch(chosen, maps, state.position), key=jax.random.key(0))
            change = log_target(image) - log_target(state)
            jumped = jnp.isfinite(change) & (log_uniform < change)
            make_info: Any = namedtuple
            with_jump = make_info("SymmetryInfo", [*info._fields, "jumped"])
            return select(jumped, image, state), with_jump(*info, jumped)

        return Kernel(kernel.init, draw, apply)

    return method._replace(name=f"{method.name} with symmetry", build=build, log_target=None)


def _check(method: Method, mirrored: Callable[[Any], Any], what: str) -> None:
    layout = method.layout
    points = jnp.asarray(np.random.default_rng(0).normal(size=(8, layout.dim)))
    tree = layout.tree(points[0])
    shapes = evaluated(what, mirrored, tree)
    wanted = jax.tree.map(jnp.shape, tree), jax.tree.structure(tree)
    if (jax.tree.map(lambda leaf: leaf.shape, shapes), jax.tree.structure(shapes)) != wanted:
        raise ValueError(f"{what} must return the variables {', '.join(layout.names)} with their shapes")

    def image(vector: Array) -> Array:
        return layout.vector(mirrored(layout.tree(vector)))

    once = jax.jit(jax.vmap(image))(points)
    twice = jax.jit(jax.vmap(image))(once)
    if not np.allclose(twice, points, rtol=0.0, atol=_ROUNDING):
        advice = "applied twice, it gives other variables. Split a rotation into two reflections"
        raise ValueError(f"{what} must undo itself: {advice}")
    before, after = (np.linalg.norm(np.diff(np.asarray(array), axis=0), axis=1) for array in (points, once))
    if not np.allclose(before, after, rtol=_ROUNDING, atol=0.0):
        advice = "take a variable in which it does not stretch, such as the logarithm of a positive one"
        raise ValueError(f"{what} must keep distances: {advice}")
