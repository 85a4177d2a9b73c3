"""Models known by a log density and its gradient, and Hamiltonian Monte Carlo on them."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.layout import Layout, layout_of, named
from auxmc.interface.methods import Method, evaluated
from auxmc.interface.precision import (
    float64_tree,
    function,
    made_by,
    positive,
    share,
    step_range,
    use_float64,
)
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo

__all__ = ["Density", "check_density", "check_falls", "density", "hmc"]

# Distances from the start, in its units, at which a log density must not grow any more.
_FAR = np.array([1e2, 1e4, 1e6])


class Density(NamedTuple):
    """A model known by its log density; `density` makes it.

    Attributes:
        log_density: maps the vector [dim] to nats.
        layout: of the variables in the vector.
        start: variables that chains begin at [dim].
        constrained: maps the variables to those that are kept with every draw, by name: the same on other scales, and
            what is derived from them; None for the variables themselves.
        spread: maps a key to a start [dim] of its own for a chain; None where all begin at `start`.
    """

    log_density: Callable[[Array], Array]
    layout: Layout
    start: np.ndarray
    constrained: Callable[[Any], dict[str, Array]] | None = None
    spread: Callable[[Array], np.ndarray] | None = None

    def values(self, vector: Array) -> dict[str, Array]:
        """What is kept of a vector [dim], by name."""
        variables = self.layout.tree(vector)
        return named(variables) if self.constrained is None else self.constrained(variables)

    def draw_start(self, key: Array) -> np.ndarray:
        """Where a chain begins [dim]."""
        return self.start if self.spread is None else self.spread(key)


def density(log_density: Callable[[Any], Array] | Density, start: Any = None) -> Density:
    """A model on the whole of a real space, known by its log density.

    Args:
        log_density: maps the variables, a pytree like `start`, to an unnormalised log density in nats; written with
            `jax.numpy` and differentiable. Or a Density, such as `auxmc.from_numpyro` returns, to begin elsewhere.
        start: variables to begin at; a Density has some already.

    Raises:
        TypeError: the function cannot be traced, returns whole or complex numbers, or is given arrays of another
            precision.
        ValueError: it returns no scalar, is not finite at the start, gives other values for the same variables, changes
            nowhere or grows without end, or has no start.
    """
    use_float64()
    if isinstance(log_density, Density):
        if start is None:
            return log_density
        own = log_density.layout.starts("start", start, 1)[0]
        check_density(log_density.log_density, own)
        return log_density._replace(start=own, spread=None)
    if start is None:
        raise ValueError("start is wanted: variables at which the log density is finite")
    function("log_density", log_density, "maps the variables to their log density, in nats")
    begin = float64_tree("start", start)
    layout = layout_of(begin)
    if layout.dim == 0:
        raise ValueError("start has no numbers: give the variables that the log density is of")
    shape = evaluated("log_density", log_density, begin)
    if getattr(shape, "shape", None) != ():
        found = getattr(shape, "shape", type(shape).__name__)
        raise ValueError(f"log_density must return one number, in nats, got shape {found}: sum over the data")
    if not jnp.issubdtype(shape.dtype, jnp.floating):
        raise TypeError(f"log_density must return a real number that has a derivative, got {shape.dtype}")
    model = Density(
        lambda vector: log_density(layout.tree(vector)), layout, layout.starts("start", begin, 1)[0]
    )
    check_density(model.log_density, model.start)
    check_falls("log_density", model.log_density, model.start, integrable=True)
    return model


def hmc(
    model: Density,
    *,
    n_steps: int | tuple[int, int] = (5, 15),
    step_size: float = 0.1,
    target_acceptance: float = 0.8,
) -> Method:
    """Hamiltonian Monte Carlo with identity mass.

    Args:
        model: the model.
        n_steps: leapfrog steps of an update: a number, or the smallest and the largest of a uniform draw.
        step_size: at the start of the warm-up, which adapts it.
        target_acceptance: mean acceptance probability that the warm-up reaches for.

    Source: PhD thesis, Algorithm 6.
    """
    step_size = positive("step_size", step_size)
    made_by("model", model, Density, "auxmc.density, auxmc.from_numpyro or auxmc.from_pymc")

    def build(scale: Array) -> Kernel:
        return hamiltonian_monte_carlo(model.log_density, scale, n_steps, model.layout.dim)

    # Wrong numbers of steps are refused where they are given, not at the first draw.
    n_steps = step_range(n_steps)
    build(jnp.asarray(step_size))
    return Method(
        "hmc",
        build,
        model.layout,
        model.values,
        step_size,
        "dual averaging",
        share("target_acceptance", target_acceptance),
        lambda start: check_density(model.log_density, start),
        model.draw_start,
        log_target=lambda state: state.log_density,
    )


def check_density(log_density: Callable[[Array], Array], start: np.ndarray) -> None:
    """Refuses a start at which a log density or its gradient is not finite, by a ValueError."""
    value, gradient = jax.jit(jax.value_and_grad(log_density))(jnp.asarray(start))
    if float(value) == math.inf:
        raise ValueError("the log density at the start is plus infinity: a log density is wanted, in nats")
    if not math.isfinite(float(value)):
        raise ValueError(f"the log density at the start is {float(value)}: give a start on its support")
    if not bool(jnp.all(jnp.isfinite(gradient))):
        n_bad = int(jnp.sum(~jnp.isfinite(gradient)))
        raise ValueError(
            f"{n_bad} of {gradient.size} derivatives of the log density at the start are not finite: check it for "
            "square roots and logarithms of zero, and for jnp.where around them"
        )


def check_falls(
    what: str, log_density: Callable[[Array], Array], start: np.ndarray, *, integrable: bool = False
) -> None:
    """Refuses a log density that grows without end in all directions, as an energy does, by a ValueError.

    One that gives other values for the same variables is refused too.

    Args:
        what: name of the function, for messages.
        log_density: maps a vector [dim] to nats.
        start: vector at which it is finite [dim].
        integrable: whether one that is the same everywhere is refused; a prior may be.
    """
    rays = np.random.default_rng(0).normal(size=(8, start.size))
    points = start + _FAR[:, None, None] * rays
    # One program: taken operation by operation, a model of another package compiles hundreds.
    evaluate = jax.jit(lambda points, start: (jax.vmap(jax.vmap(log_density))(points), log_density(start)))
    far, near = evaluate(jnp.asarray(points), jnp.asarray(start))
    values, first = np.asarray(far), np.full((1, len(rays)), float(near))
    # Traced once more: what is random in it, or counts calls, comes out otherwise.
    again = float(jax.jit(lambda start: log_density(start))(jnp.asarray(start)))
    if not math.isclose(again, float(near), rel_tol=1e-6, abs_tol=1e-6):
        raise ValueError(
            f"{what} gives other values for the same variables, {float(near):.6g} and {again:.6g}: it must draw no "
            "random numbers itself, and change nothing outside"
        )
    if integrable and np.all(values == first):
        raise ValueError(
            f"{what} is the same everywhere: it depends on none of the variables, or has no finite integral"
        )
    if np.all(values > np.concatenate([first, values[:-1]]) + 1.0):
        raise ValueError(
            f"{what} grows without end away from the start: it may have the wrong sign. A log density is wanted, not "
            "an energy or a loss"
        )
