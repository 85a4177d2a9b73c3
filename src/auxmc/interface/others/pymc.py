"""Models of PyMC: log density and transforms as functions of JAX, through PyMC's own translation."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.arguments import require_x64
from auxmc.interface.densities import Density, density
from auxmc.interface.others.starts import spread_around

# Half the side of the cube of starts about the model's initial point, as PyMC's `jitter+adapt_diag` has it.
_WIDTH = 1.0


def from_pymc(model: Any) -> Density:
    """A model of PyMC as a density on unconstrained variables, for `auxmc.hmc` and all else that takes a density.

    Chains move PyMC's value variables, such as `sigma_log__`; draws have the variables' own values, such as `sigma`,
    and those of its deterministics. The density is normalised as the model's priors are, derivatives of the
    transforms included, so that its integral is the evidence.

    Args:
        model: `pymc.Model`.

    Raises:
        ImportError: PyMC is not installed.
        TypeError: `model` is none of PyMC.
        ValueError: a free variable is discrete, there is none, a part has no translation to JAX, or the log density is
            not finite at the model's initial point.

    Source: Abril-Pla et al. 2023, "PyMC: a modern and comprehensive probabilistic programming framework in Python",
    PeerJ Computer Science 9:e1516.
    """
    try:
        import pymc
        from pymc.sampling.jax import get_jaxified_graph
        from pymc.util import get_default_varnames
    except ImportError as error:
        raise ImportError("auxmc.from_pymc needs PyMC: pip install pymc") from error
    if not isinstance(model, pymc.Model):
        raise TypeError(f"model must be a pymc.Model, got {type(model).__name__}")
    require_x64()
    variables = model.value_vars
    if not variables:
        raise ValueError("the model has no free variable: there is nothing to draw")
    if discrete := [variable.name for variable in model.discrete_value_vars]:
        advice = "Sum over them in the model, as pymc.Mixture does"
        raise ValueError(f"the variables {', '.join(discrete)} are discrete. {advice}")
    kept = get_default_varnames(model.unobserved_value_vars, include_transformed=False)
    try:
        logp = get_jaxified_graph(inputs=variables, outputs=[model.logp()])
        transform = get_jaxified_graph(inputs=variables, outputs=kept)
    except NotImplementedError as error:
        raise ValueError(f"PyMC has no translation to JAX for a part of the model: {error}") from error
    names, kept_names = [variable.name for variable in variables], [variable.name for variable in kept]

    def log_density(values: Mapping[str, Array]) -> Array:
        return logp(*(values[name] for name in names))[0]

    def constrained(values: Mapping[str, Array]) -> dict[str, Array]:
        found = transform(*(values[name] for name in names))
        return dict(zip(kept_names, map(jnp.asarray, found), strict=True))

    point = model.initial_point()
    made = density(log_density, {name: np.asarray(point[name], np.float64) for name in names})
    return made._replace(constrained=constrained, spread=spread_around(made.start, _WIDTH, made.log_density))
