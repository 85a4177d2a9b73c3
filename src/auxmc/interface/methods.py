"""What `auxmc.sample` runs: a kernel on a user's model, with everything that a run must know about it."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.layout import Layout
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.dual_averaging import dual_averaging
from auxmc.kernels.hamiltonian.window_adaptation import window_adaptation
from auxmc.numerics.values import by_value

LogDensity = Callable[[Array], Array]
"""Maps a vector [dim] to nats."""


@by_value
class Method(NamedTuple):
    """A kernel on a model; give its fields by name.

    Attributes:
        name: for seeds and results.
        build: maps the scale of a step (a traced scalar) to the kernel; with windows, maps step size and inverse mass.
            The kernel's random numbers must not depend on these.
        layout: variables in the kernel's vector.
        values: maps the kernel's vector to the variables that are kept, by name.
        scale: of the first step.
        check: rejects a start [dim] that a chain cannot begin at, by a ValueError.
        kind: of the model: "density", "simulator" or "estimate"; empty where draws need no advice.
        adaptation: "diagonal windows" or "dense windows" for step size and mass matrix, "dual averaging" for the step
            size, all to `target`; "" for none.
        target: mean acceptance probability that dual averaging reaches for.
        final_scale: step size in standard deviations of the target, once windows have estimated these; None adapts it.
        draw_start: maps a key to a start [dim]; None where a user must give one.
        of_state: maps the kernel's state to further scalars that are kept, by name.
        log_density: maps the kernel's vector to nats, the `lp` of a state; None where it is not known.
        log_target: maps the kernel's state to the log of the density that the kernel leaves invariant, minus infinity
            off the model's support; None where a state is more than a position and values at it, or has jumped already.
        warnings: what was said about the model when it was made.
        is_plain: whether the kept variables are those of the vector, of a density that can be evaluated anywhere.
        given: pytree of arrays that differ between runs of one model: arguments of the compiled program.
        with_given: maps such a pytree to the method that uses it; None where `given` is empty.
    """

    name: str
    build: Callable[..., Kernel]
    layout: Layout
    values: Callable[[Array], dict[str, Array]]
    scale: float
    check: Callable[[np.ndarray], None]
    kind: str = ""
    adaptation: str = ""
    target: float = math.nan
    final_scale: float | None = None
    draw_start: Callable[[Array], np.ndarray] | None = None
    of_state: Callable[[Any], dict[str, Array]] = lambda state: {}
    log_density: Callable[[Array], Array] | None = None
    log_target: Callable[[Any], Array] | None = None
    warnings: tuple[str, ...] = ()
    is_plain: bool = False
    given: Any = ()
    with_given: Callable[[Any], "Method"] | None = None

    def __repr__(self) -> str:
        """Its name and variables."""
        return f"{self.name} on {', '.join(self.layout.names)}"

    def adapted(self, n_warm_up: int) -> Kernel:
        """The kernel with the scale of its steps adapted during warm-up and frozen then."""
        if self.adaptation.endswith("windows"):
            return window_adaptation(
                self.build,
                self.scale,
                n_warm_up,
                self.layout.dim,
                target=self.target,
                dense=self.adaptation == "dense windows",
                final_step_size=self.final_scale,
            )
        if self.adaptation == "dual averaging":
            return dual_averaging(self.build, self.scale, n_warm_up, self.target)
        return self.build(jnp.asarray(self.scale))


def innermost(state: Any) -> Any:
    """The kernel's own state, below any number of adaptations; its attribute `position` is the vector."""
    while not hasattr(state, "position"):
        state = state.inner
    return state


def flat_info(info: Any) -> dict[str, Array]:
    """Scalars of a kernel's info by name, those of nested infos next to their own."""
    found: dict[str, Array] = {}
    for name, value in info._asdict().items():
        if hasattr(value, "_asdict"):
            found |= flat_info(value)
        elif jnp.ndim(value) == 0:
            found[_FIELD_NAMES.get(name, name)] = value
    return found


# As ArviZ calls them.
_FIELD_NAMES = {
    "is_accepted": "accepted",
    "is_divergent": "diverging",
    "num_integration_steps": "n_steps",
    "scale": "step_size",
}


def follows_its_key(what: str, draw: Callable[[Array], Any]) -> None:
    """Rejects a function, called `what`, whose draws differ for one key or are the same for two (ValueError)."""
    first, again, other = (jax.tree.leaves(draw(jax.random.key(i))) for i in (0, 0, 1))
    advice = "draw them with jax.random and the key"
    if not all(map(np.array_equal, first, again)):
        raise ValueError(f"{what} gives other numbers for the same key: {advice}")
    if all(map(np.array_equal, first, other)):
        raise ValueError(f"{what} gives the same numbers for every key: {advice}")


def evaluated(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Shapes of what a user's function, called `what`, returns; else an error that says how to fix it."""
    try:
        shapes = jax.eval_shape(function, *arguments)
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
        raise TypeError(
            f"{what} uses NumPy, float() or Python's if on a value that JAX traces: use jax.numpy, jnp.where and "
            f"jax.lax instead. ({str(error).splitlines()[0]})"
        ) from error
    except KeyError as error:
        advice = "check the names of variables and columns"
        raise ValueError(f"{what} asks for {error}, which is not there: {advice}") from error
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise type(error)(f"{what} fails for arrays of the declared shapes: {error}") from error
    for leaf in jax.tree.leaves(shapes):
        if not hasattr(leaf, "shape"):
            raise TypeError(f"{what} must return arrays, got {type(leaf).__name__}")
    return shapes


def evaluated_number(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Shape and dtype of what a function returns, by tracing; ValueError for anything but one number."""
    found = evaluated(what, function, *arguments)
    if getattr(found, "shape", None) != ():
        got = getattr(found, "shape", type(found).__name__)
        raise ValueError(f"{what} must return one number, in nats, got shape {got}: sum over its elements")
    return found
