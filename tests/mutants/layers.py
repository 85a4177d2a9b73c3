"""Layers of checks applied to a wrapped kernel: each makes a mutation that the layer must notice."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.models.estimator import Estimator
from tests.mutants.mutation import WrappedMutation
from tests.statistical.kernel_checks import (
    check_ellipse_bracket,
    check_height,
    check_invariance,
    check_line_bracket,
    check_structure,
    flat_infos,
    latent_driver,
    line_driver,
    log_target,
    slice_internals,
    square_driver,
)

__all__ = [
    "BuildKernel",
    "LogDensity",
    "bracket",
    "ellipse_cut",
    "height",
    "latent",
    "line",
    "square",
    "structure",
]

LogDensity = Callable[[Array], Array]
BuildKernel = Callable[[LogDensity], Kernel]


def line(component: str, what: str, build: BuildKernel) -> WrappedMutation:
    """L5 on the line."""

    def check(stream: str) -> None:
        driver = line_driver(lambda index: build(lambda x: log_target(index, x)))
        check_invariance(driver(0, stream), floor=0.0)

    return WrappedMutation(component, what, "L5", check)


def square(component: str, what: str, build: Callable[[], Kernel]) -> WrappedMutation:
    """L5 on the unit square."""
    return WrappedMutation(
        component, what, "L5", lambda stream: check_invariance(square_driver(build())(0, stream), floor=0.0)
    )


def latent(component: str, what: str, build: Callable[[Estimator], Kernel]) -> WrappedMutation:
    """L5 on a latent Gaussian with an estimated likelihood."""
    return WrappedMutation(
        component, what, "L5", lambda stream: check_invariance(latent_driver(build, 1)(0, stream), floor=0.0)
    )


def structure(component: str, what: str, build: BuildKernel) -> WrappedMutation:
    """L1 of slices."""
    return WrappedMutation(
        component, what, "L1", lambda stream: check_structure(slice_internals(_bimodal(build), stream))
    )


def height(component: str, what: str, build: BuildKernel) -> WrappedMutation:
    """L4 of the height of a slice."""
    return WrappedMutation(
        component, what, "L4", lambda stream: check_height(slice_internals(_bimodal(build), stream))
    )


def bracket(component: str, what: str, build: BuildKernel, max_step_outs: int = 0) -> WrappedMutation:
    """L4 of a bracket of width 0.8 on the line."""
    return WrappedMutation(
        component,
        what,
        "L4",
        lambda stream: check_line_bracket(flat_infos(build(_flat), stream), 0.8, max_step_outs),
    )


def ellipse_cut(component: str, what: str, build: BuildKernel) -> WrappedMutation:
    """L4 of the bracket of an ellipse."""
    return WrappedMutation(
        component, what, "L4", lambda stream: check_ellipse_bracket(flat_infos(build(_flat), stream))
    )


def _bimodal(build: BuildKernel) -> Kernel:
    return build(lambda x: log_target(jnp.asarray(0), x))


def _flat(_: Array) -> Array:
    return jnp.zeros(())
