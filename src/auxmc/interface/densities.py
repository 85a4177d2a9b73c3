"""Models known by a log density and its gradient, and Hamiltonian Monte Carlo on them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.checks.densities import advise_jumps, advise_tails, lines_through, start_check
from auxmc.interface.checks.ridges import advise_ridges
from auxmc.interface.checks.support import advise_support
from auxmc.interface.layout import Layout, named, start_variables
from auxmc.interface.methods import Method, evaluated
from auxmc.interface.precision import (
    function,
    made_by,
    positive,
    share,
    step_range,
    use_float64,
)
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo

__all__ = ["Density", "density", "hmc"]


class Density(NamedTuple):
    """A model known by its log density; `density` makes it.

    Attributes:
        log_density: maps the vector [dim] to nats.
        layout: of the variables in the vector.
        start: variables that chains begin at [dim].
        constrained: maps the variables to those that are kept with every draw, by name: the same on other scales, and
            what is derived from them; None for the variables themselves.
        spread: maps a key to a start [dim] of its own for a chain; None where all begin at `start`.
        warnings: what is to be said about the log density.
    """

    log_density: Callable[[Array], Array]
    layout: Layout
    start: np.ndarray
    constrained: Callable[[Any], dict[str, Array]] | None = None
    spread: Callable[[Array], np.ndarray] | None = None
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Its variables."""
        return f"Density of {', '.join(self.layout.names)} ({self.layout.dim} numbers)"

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
        ValueError: it returns no scalar, is not finite at the start, or nowhere around it, gives other values for the
            same variables, does not depend on one of them, grows without end, is a step function, or has no start.

    Warns:
        SamplingWarning: it jumps, does not fall far out, is the same along a line, or is NaN at many points around
            the start.
    """
    use_float64()
    if isinstance(log_density, Density):
        if start is None:
            return log_density
        own = log_density.layout.starts("start", start, 1)[0]
        start_check(log_density.log_density)(own)
        return log_density._replace(start=own, spread=None)
    if start is None:
        raise ValueError("start is wanted: variables at which the log density is finite")
    function("log_density", log_density, "maps the variables to their log density, in nats")
    begin, layout = start_variables(start)
    shape = evaluated("log_density", log_density, begin)
    if getattr(shape, "shape", None) != ():
        found = getattr(shape, "shape", type(shape).__name__)
        raise ValueError(f"log_density must return one number, in nats, got shape {found}: sum over the data")
    if not jnp.issubdtype(shape.dtype, jnp.floating):
        raise TypeError(f"log_density must return a real number that has a derivative, got {shape.dtype}")
    model = Density(
        lambda vector: log_density(layout.tree(vector)), layout, layout.starts("start", begin, 1)[0]
    )
    start_check(model.log_density)(model.start)
    advice = advise_support("log_density", model.log_density, model.start)
    advice += advise_tails("log_density", model.log_density, model.start, layout)
    advice += advise_ridges("log_density", model.log_density, model.start, layout)
    advice += advise_jumps("log_density", model.log_density, lines_through(model.start), layout)
    for one in advice:
        one.warn()
    return model._replace(warnings=tuple(one.text for one in advice))


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
        start_check(model.log_density),
        model.draw_start,
        of_state=lambda state: {"lp": state.log_density},
        log_target=lambda state: state.log_density,
        warnings=model.warnings,
        plain=model.constrained is None,
    )
