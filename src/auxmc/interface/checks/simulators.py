"""Examines a simulator: its outputs, the priors of its inputs, and derived variables."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.advice import Advice
from auxmc.interface.arguments import check_callable
from auxmc.interface.checks.densities import advise_precision, advise_tails, advise_undefined, reject_steps
from auxmc.interface.layout import Layout, layout_of, named, variables
from auxmc.interface.methods import evaluated
from auxmc.interface.prior import Prior
from auxmc.numerics.programs import without_reverse_mode

_N_DRAWS = 16

Shapes = dict[str, jax.ShapeDtypeStruct]


def check_outputs(generate: Callable[..., Any], data: Any, shapes: Shapes) -> None:
    """Rejects outputs, by tracing, that are not float64 (TypeError) or do not fit the data (ValueError)."""
    outputs = evaluated("generate", generate, shapes)
    wanted, found = ({n: tuple(leaf.shape) for n, leaf in named(t).items()} for t in (data, outputs))
    if wanted != found:
        raise ValueError(f"generate: expected the shapes of the observed data, {wanted}, got {found}")
    if list(wanted) != list(found):
        # A dictionary has its outputs in the order of their names, a named tuple in that of its fields.
        orders = f"{', '.join(wanted)}, got {', '.join(found)}. Give both in the same kind of container"
        raise ValueError(f"generate: expected the order of the observed data, {orders}")
    others = sorted({str(leaf.dtype) for leaf in jax.tree.leaves(outputs)} - {"float64"})
    if others:
        raise TypeError(f"generate: expected real outputs in float64, got {', '.join(others)}")


def check_derived(derived: Callable[..., Any], shapes: Shapes) -> None:
    """Rejects a function of the inputs by name whose variables cannot be kept (TypeError, ValueError)."""
    check_callable("derived", derived, "maps the inputs by name to further variables")
    further = evaluated("derived", derived, shapes)
    if not isinstance(further, dict) or not further:
        raise TypeError(f"derived: expected a dictionary of further variables by name, got {further!r}")
    variables("derived", further)
    both = sorted(set(named(further)) & set(shapes))
    if both:
        raise ValueError(f"derived: {', '.join(both)} is an input already. Give it another name")
    variables("derived", shapes | named(further))


def check_prior(what: str, prior: Any) -> list[Advice]:
    """Advice about the prior of an input; rejects what is none, or does not fit (TypeError, ValueError)."""
    if not isinstance(prior, Prior):
        raise TypeError(f"{what}: expected a prior, such as auxmc.prior.normal(3), got {prior!r}")
    if prior.name != "custom":
        return []
    standard, key = jax.ShapeDtypeStruct(prior.shape, jnp.float64), jax.random.key(0)
    density = f"log_density of {what}"
    for name, expected, function, argument in (
        (density, (), prior.log_density, standard),
        (f"draw of {what}", prior.shape, prior.draw, key),
    ):
        if (found := getattr(evaluated(name, function, argument), "shape", None)) != expected:
            raise ValueError(f"{name}: expected the shape {expected}, got {found}")
    start = np.asarray(prior.draw(key)).ravel()
    if not np.isfinite(prior.log_density(jnp.asarray(start).reshape(prior.shape))):
        raise ValueError(f"{density}: expected a finite value at a draw of the input")
    layout = layout_of({"input": standard})
    return advise_tails(density, lambda v: prior.log_density(v.reshape(prior.shape)), start, layout)


def check_generator(
    outputs: Callable[[Array], Array], draw: Callable[[Array], Array], layout: Layout
) -> list[Advice]:
    """Advice about a generator of outputs [output] from standard inputs [input], at draws of these.

    Rejects one that is random, nowhere finite, has no derivative in reverse mode or is a step function (ValueError).
    """
    points = jnp.stack([draw(jax.random.key(i)) for i in range(_N_DRAWS)])
    if not np.array_equal(outputs(points[0]), outputs(points[0]), equal_nan=True):
        fix = "Make its random numbers inputs, such as auxmc.prior.normal(n)"
        raise ValueError(f"generate gives other outputs for the same inputs. {fix}")
    values = np.asarray(jax.jit(jax.vmap(outputs))(points))
    usable = np.all(np.isfinite(values), axis=1)
    if not usable.any():
        raise ValueError(f"generate gives no finite outputs for {_N_DRAWS} draws of the priors")
    advice = advise_precision("generate", outputs, points[0])
    advice += advise_undefined("what generate returns", ~usable, "draws of the priors", "not finite")
    spreads = np.ptp(values[usable], axis=0)
    # Each output counts as much as it varies; random weights, so that steps of several do not cancel.
    weights = np.random.default_rng(0).uniform(0.5, 1.0, spreads.size)
    weights /= np.where(spreads > 0.0, spreads, np.inf)

    def weighted(vector: Array) -> Array:
        return outputs(vector) @ weights

    try:
        gradients = np.asarray(jax.jit(jax.vmap(jax.grad(weighted)))(points[usable]))
    except ValueError as error:
        raise without_reverse_mode("generate", error) from None
    reject_steps("what generate returns", weighted, np.asarray(points[usable]), gradients, layout)
    return advice
