"""Exact conditioning of a simulator: constrained HMC on the random inputs that generate the observed data."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface import arguments
from auxmc.interface.advice import issue
from auxmc.interface.checks.manifold_starts import finder, manifold_check, search
from auxmc.interface.checks.simulators import check_derived, check_generator, check_outputs, check_prior
from auxmc.interface.layout import Layout, layout_of, named, variables
from auxmc.interface.methods import Method
from auxmc.interface.prior import Prior
from auxmc.kernels.base import Kernel, check_steps
from auxmc.kernels.manifold import constrained_hmc as constrained
from auxmc.kernels.manifold.constrained_nuts import constrained_nuts as nuts_kernel
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models import conditioned
from auxmc.numerics.values import by_value

_NOISE = "output_noise"
_TRIES = 200


@by_value
class Simulator(NamedTuple):
    """A generative model conditioned on its observed outputs; `simulator` makes it.

    Attributes:
        model: as the kernels want it, on the vector of standard inputs.
        priors: distributions of the inputs, by name.
        layout: of the standard inputs in the vector, with those of the noise last where outputs are noisy.
        derived: maps the inputs' values, by name, to further variables to keep.
        start_of: makes a point on the manifold from inputs drawn from their priors, exact where outputs are noisy.
        observed: data as a vector [output].
        warnings: what is to be said about the generator and the priors.
    """

    model: conditioned.ConditionedModel
    priors: Mapping[str, Prior]
    layout: Layout
    derived: Callable[[dict[str, Array]], dict[str, Array]] | None
    start_of: Callable[[Array], Array] | None
    observed: np.ndarray
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Its inputs and the number of its outputs."""
        return f"Simulator of {self.n_outputs} outputs from inputs {', '.join(self.priors)}"

    def draw_start(self, key: Array) -> Array:
        """Standard inputs [input] of the priors; a point on the manifold where outputs are noisy."""
        start = _drawn(self.priors, key)
        return start if self.start_of is None else self.start_of(start)

    @property
    def rounding(self) -> float:
        """By how much outputs can differ from the data by rounding alone, in units of the data."""
        return 64.0 * float(np.finfo(np.float64).eps) * float(np.max(np.abs(self.observed), initial=0.0))

    @property
    def n_outputs(self) -> int:
        """Number of observed values."""
        return self.observed.size

    def values(self, vector: Array) -> dict[str, Array]:
        """The inputs' values, and what is derived from them, from the vector of standard inputs."""
        inputs = _values(self.priors, self.layout, vector)
        return inputs if self.derived is None else inputs | named(self.derived(inputs))


def simulator(
    generate: Callable[[dict[str, Array]], Any],
    observed: Any,
    inputs: Mapping[str, Prior],
    *,
    noise_scale: float | None = None,
    derived: Callable[[dict[str, Array]], dict[str, Array]] | None = None,
    checks: str = "basic",
) -> Simulator:
    """A differentiable simulator conditioned on its outputs: no likelihood, no tolerance.

    The posterior is exact: it is that of the inputs given that the outputs are the observed data. Parameters are inputs
    like the others.

    Args:
        generate: maps the inputs by name, arrays with the shapes of their priors, to outputs: an array or a pytree of
            arrays. Written with `jax.numpy`, differentiable, and without any randomness of its own.
        observed: data of the same structure and shapes as the outputs.
        inputs: distribution of each input.
        noise_scale: standard deviation of normal noise added to every output, in units of the data; None for none.
            Wanted where outputs depend on fewer inputs than there are data; the tolerance of ABC, its kernel normal.
        derived: maps the inputs by name to further variables that are kept with every draw.
        checks: "off" to evaluate nothing but shapes; otherwise the generator is examined at draws of the priors.

    Raises:
        TypeError: a prior is none, or `generate` cannot be traced, or returns anything but float64.
        ValueError: shapes do not agree, there are no more inputs than data, `generate` gives other outputs for
            the same inputs, its outputs are not finite anywhere, or they are step functions of an input.

    Warns:
        SamplingWarning: If the outputs are not finite at many draws of the priors, or a custom prior does not fall far
            out.

    >>> import auxmc
    >>> auxmc.enable_x64()
    >>> model = auxmc.simulator(
    ...     lambda inputs: inputs["mean"] + inputs["noise"],
    ...     observed=[0.3, 0.9],
    ...     inputs={"mean": auxmc.prior.normal(), "noise": auxmc.prior.normal(2)},
    ... )
    >>> model.layout.dim, model.n_outputs
    (3, 2)
    """
    arguments.require_x64()
    arguments.check_level(checks)
    arguments.check_callable("generate", generate, "maps inputs to outputs")
    if not isinstance(inputs, Mapping) or not all(isinstance(name, str) for name in inputs):
        like = '{"rate": auxmc.prior.log_normal()}'
        raise TypeError(f"inputs must be a dictionary of priors by name, such as {like}, got {inputs!r}")
    advice = [one for name, prior in inputs.items() for one in check_prior(f"inputs[{name!r}]", prior)]
    if not inputs:
        raise ValueError("inputs is empty: a simulator has at least one random input")
    if noise_scale is not None:
        noise_scale = arguments.check_positive("noise_scale", noise_scale)
    shapes = {name: jax.ShapeDtypeStruct(prior.shape, jnp.float64) for name, prior in inputs.items()}
    layout = variables("inputs", shapes)
    if derived is not None:
        check_derived(derived, shapes)
    data = arguments.float64_tree("observed", observed)

    def outputs(vector: Array) -> Array:
        return layout_of(data).vector(generate(_values(inputs, layout, vector)))

    def log_prior(vector: Array) -> Array:
        standard = layout.tree(vector)
        return sum((prior.log_density(standard[name]) for name, prior in inputs.items()), jnp.zeros(()))

    target = jnp.asarray(layout_of(data).vector(data))
    check_outputs(generate, data, shapes)
    if noise_scale is None and layout.dim <= target.size:
        raise ValueError(
            f"there are {layout.dim} inputs for {target.size} observed values: isolated points or none give all of "
            "them. Make every source of noise an input, or give noise_scale"
        )
    if checks != "off":
        advice += check_generator(outputs, lambda key: _drawn(inputs, key), layout)
    texts = () if checks == "off" else issue(advice)
    if noise_scale is None:
        model = conditioned.condition_generator(outputs, log_prior, target)
        return Simulator(model, dict(inputs), layout, derived, None, np.asarray(target), texts)
    model = conditioned.condition_noisy_generator(outputs, log_prior, target, noise_scale)
    # Dictionaries are flattened in the order of their keys, and the kernels have the noise behind all inputs. Greek
    # names come behind "~".
    last = "~" if max(layout.names) < "~" + _NOISE else chr(sys.maxunicode)
    shapes[last + _NOISE] = jax.ShapeDtypeStruct(target.shape, jnp.float64)
    start_of = lambda u: conditioned.noisy_input(outputs, u, target, noise_scale)  # noqa: E731
    return Simulator(model, dict(inputs), layout_of(shapes), derived, start_of, np.asarray(target), texts)


def constrained_hmc(
    model: Simulator,
    *,
    n_steps: int | tuple[int, int] = (5, 15),
    step_size: float = 0.1,
    n_inner_steps: int = 1,
    target_acceptance: float = 0.8,
    tolerance: float = 1e-8,
) -> Method:
    """Constrained HMC on the manifold of inputs that generate the data.

    Args:
        model: the conditioned simulator.
        n_steps: integrator steps of an update: a number, or the smallest and the largest of a uniform draw; a single
            number can return to where a trajectory began.
        step_size: at the start of the warm-up, which adapts it.
        n_inner_steps: geodesic sub-steps of a step.
        target_acceptance: mean acceptance probability that the warm-up reaches for.
        tolerance: largest distance of an output from its datum that counts as none, in units of the data.

    Source: Graham and Storkey 2017, Algorithm 1; PhD thesis, Algorithm 11.
    """
    n_steps = check_steps(n_steps)
    projection = ProjectionSettings(tolerance=arguments.check_positive("tolerance", tolerance))

    def build(scale: Array) -> Kernel:
        return constrained.constrained_hmc(
            model.model, scale, n_steps, model.layout.dim, n_inner_steps=n_inner_steps, projection=projection
        )

    return _method("constrained_hmc", model, build, step_size, target_acceptance, tolerance)


def constrained_nuts(
    model: Simulator,
    *,
    max_depth: int = 8,
    step_size: float = 0.1,
    target_acceptance: float = 0.8,
    tolerance: float = 1e-8,
) -> Method:
    """Constrained HMC whose trajectories end by themselves when they turn back; arguments as `constrained_hmc`.

    Args:
        model: the conditioned simulator.
        max_depth: doublings of a trajectory at most.
        step_size: at the start of the warm-up.
        target_acceptance: mean acceptance probability that the warm-up reaches for.
        tolerance: as for `constrained_hmc`.
    """
    projection = ProjectionSettings(tolerance=arguments.check_positive("tolerance", tolerance))

    def build(scale: Array) -> Kernel:
        return nuts_kernel(model.model, scale, model.layout.dim, max_depth=max_depth, projection=projection)

    return _method("constrained_nuts", model, build, step_size, target_acceptance, tolerance)


def start_on_manifold(model: Simulator, *, chains: int = 4, seed: int = 0, tries: int = _TRIES) -> Any:
    """Standard inputs that generate the data, one point for each chain: draws of the prior, moved on to the manifold.

    Args:
        model: the conditioned simulator.
        chains: number of points.
        seed: of the draws.
        tries: draws for a point after which the search is given up.

    Returns:
        The inputs' standard variables by name, each [chain, ...]: a `start` for `auxmc.sample`.

    Raises:
        ValueError: no point was found; says how near the nearest came.
    """
    arguments.require_x64()
    arguments.check_instance("model", model, Simulator, "auxmc.simulator")
    arguments.check_integer("chains", chains, 1)
    arguments.check_seed(seed)
    find = finder(model.model, model.draw_start, 1e-9)
    key = jax.random.key(seed)
    points = [search(find, jax.random.fold_in(key, chain), tries, model.rounding) for chain in range(chains)]
    return jax.vmap(model.layout.tree)(jnp.asarray(np.stack(points)))


def _method(
    name: str, model: Simulator, build: Callable[..., Kernel], scale: float, target: float, tolerance: float
) -> Method:
    arguments.check_instance("model", model, Simulator, "auxmc.simulator")
    # Wrong numbers of steps are rejected where they are given, not at the first draw.
    build(jnp.asarray(arguments.check_positive("step_size", scale)))
    find = finder(model.model, model.draw_start, 0.1 * tolerance)

    def log_target(state: Any) -> Array:
        off = jnp.max(jnp.abs(model.model.constraint(state.position))) > tolerance
        return jnp.where(off, -jnp.inf, -state.potential)

    return Method(
        name=name,
        build=build,
        layout=model.layout,
        values=model.values,
        scale=float(scale),
        check=manifold_check(model.model, tolerance),
        kind="simulator",
        adaptation="dual averaging",
        target=arguments.check_fraction("target_acceptance", target),
        draw_start=lambda key: search(find, key, _TRIES, model.rounding),
        of_state=lambda state: {"lp": -state.potential},
        log_density=lambda u: -constrained.evaluate_state(model.model, u).potential,
        log_target=log_target,
        warnings=model.warnings,
    )


def _drawn(priors: Mapping[str, Prior], key: Array) -> Array:
    """Standard inputs [input] of their priors, in the order of a layout."""
    drawn = {name: prior.draw(jax.random.fold_in(key, i)) for i, (name, prior) in enumerate(priors.items())}
    return layout_of(drawn).vector(drawn)


def _values(priors: Mapping[str, Prior], layout: Layout, vector: Array) -> dict[str, Array]:
    """The inputs' values from the vector of standard inputs."""
    standard = layout.tree(vector)
    return {name: prior.value(standard[name]) for name, prior in priors.items()}
