"""Stochastic Lotka-Volterra model of prey r and predators f, as a deterministic map of standard normal inputs.

    dr = (z1 r - z2 r f) dt + dn_r,        df = (z4 r f - z3 f) dt + dn_f

are stepped by Euler and Maruyama's rule: with means

    R_s = r + delta (z1 r - z2 r f),       F_s = f + delta (z4 r* f - z3 f),

r and f at step s - 1, r_s = R_s + sqrt(delta) sigma_r n_s and f_s = F_s + sqrt(delta) sigma_f m_s. The scheme `text`
has r* = r, as printed in both sources; the scheme `code` has r* = r_s, as the published results were made. Rates are
z = exp(m + s u1), u1 [4] and u2 = (n_1, m_1, n_2, m_2, ...) being standard normal. Source: PhD thesis, section
4.10.2; Graham and Storkey 2017, section 10.2.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from auxmc.kernels.base import check_choice
from auxmc.numerics.array_types import FloatArray
from experiments.lotka_volterra.model.data import MIN_STEPS, POPULATIONS, published_data

Scheme = Literal["code", "text"]
N_RATES = 4  # Number of rates z, and of inputs u1
_UNROLL = 2  # steps in one pass of the compiled loop: fewer passes, little more to compile


class LotkaVolterraModel(NamedTuple):
    """Data and constants of the model; build it with `lotka_volterra_model`."""

    observations: FloatArray  # prey and predators at steps 1, 2, ... [step, 2], float64.
    initial_state: tuple[float, float]  # prey and predators at step 0 [2]
    time_step: float  # delta, in the unit of time of the rates
    noise_scales: tuple[float, float]  # sigma_r and sigma_f, sds of the noise over one unit of time [2]
    scheme: str  # `code` or `text`, which prey value the predator update sees
    prior_mean: float  # m, prior mean of each log rate
    prior_sd: float  # s, prior standard deviation of each log rate

    @property
    def n_steps(self) -> int:
        """T, the number of observed steps."""
        return int(self.observations.shape[0])

    @property
    def n_inputs(self) -> int:
        """M = 4 + 2 T, the number of random inputs."""
        return N_RATES + 2 * self.n_steps

    @property
    def step_sd(self) -> FloatArray:
        """Standard deviation of the noise in one step, sqrt(delta) sigma, of prey and predators [2]."""
        return math.sqrt(self.time_step) * np.array(self.noise_scales)

    @property
    def previous_states(self) -> FloatArray:
        """Observed state before each step [step, 2]."""
        return np.concatenate([np.array([self.initial_state]), self.observations[:-1]])


def lotka_volterra_model(
    observations: ArrayLike,
    scheme: str = "code",
    *,
    initial_state: Sequence[float] | None = (100.0, 100.0),
    time_step: float = 1.0,
    noise_scales: Sequence[float] = (1.0, 1.0),
    prior_mean: float = -2.0,
    prior_sd: float = 1.0,
) -> LotkaVolterraModel:
    """Checks data [step, 2] and constants, and makes the model; without an initial state the first row is it."""
    check_choice("scheme", scheme, get_args(Scheme))
    values = np.asarray(observations, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 2:
        raise ValueError(
            f"observations must be a matrix [step, 2] of prey and predators, got shape {values.shape}"
        )
    if not np.all(np.isfinite(values)):
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"observations must be finite, got {values[row, column]} at row {row}, column {column} "
            f"({POPULATIONS[column]}; both counted from 0); fill the value in, or cut the series there"
        )
    if initial_state is None:
        start, values = values[:1].ravel(), values[1:]
    else:
        start = np.asarray(initial_state, dtype=np.float64)
        if start.shape != (2,) or not np.all(np.isfinite(start)):
            raise ValueError(
                f"initial_state must be two finite numbers, prey and predators, got {initial_state!r}"
            )
    if len(values) < MIN_STEPS:
        raise ValueError(
            f"observations must have at least {MIN_STEPS} rows after the initial state, got {len(values)}"
        )
    if len(noise_scales) != 2:
        raise ValueError(f"noise_scales must be two numbers, prey and predators, got {noise_scales!r}")
    scales = (("noise_scales", scale) for scale in noise_scales)
    for name, value in (("time_step", time_step), *scales, ("prior_sd", prior_sd)):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} must be positive and finite, got {value!r}")
    if not math.isfinite(prior_mean):
        raise ValueError(f"prior_mean must be finite, got {prior_mean!r}")
    return LotkaVolterraModel(
        values,
        (float(start[0]), float(start[1])),
        float(time_step),
        (float(noise_scales[0]), float(noise_scales[1])),
        scheme,
        float(prior_mean),
        float(prior_sd),
    )


def published_model(scheme: str = "code") -> LotkaVolterraModel:
    """The published data with the published constants; the scheme says how they are modelled, not how they arose."""
    return lotka_volterra_model(published_data(), scheme)


def with_finer_steps(model: LotkaVolterraModel, steps_per_observation: int) -> LotkaVolterraModel:
    """The model in M steps of delta / M an observation (section 4.10.2); states between start on straight lines."""
    if steps_per_observation < 1:
        raise ValueError(f"steps_per_observation must be positive, got {steps_per_observation}")
    part = np.arange(1, steps_per_observation + 1)[None, :, None] / steps_per_observation
    before, after = model.previous_states[:, None], model.observations[:, None]
    states = before + part * (after - before)
    states[:, -1:] = after
    time_step = model.time_step / steps_per_observation
    return model._replace(observations=states.reshape(-1, 2), time_step=time_step)


def log_prior(inputs: Array) -> Array:
    """Log density of the standard normal inputs [input], a scalar in nats, up to a constant."""
    return -0.5 * jnp.sum(jnp.square(inputs))


def log_rates(model: LotkaVolterraModel, inputs: Array) -> Array:
    """Log rates log z = m + s u1 [4] from all inputs [input] or from u1 alone."""
    return model.prior_mean + model.prior_sd * inputs[:N_RATES]


def simulate(model: LotkaVolterraModel, inputs: Array) -> Array:
    """Prey and predators [step, 2] from random inputs u = (u1, u2) [input]; not finite once they overflow."""
    rates = jnp.exp(log_rates(model, inputs))
    noise = jnp.asarray(model.step_sd)[None, :] * inputs[N_RATES:].reshape(model.n_steps, 2)
    growth, death = 1.0 + model.time_step * rates[0], 1.0 - model.time_step * rates[2]
    hunted, fed = model.time_step * rates[1], model.time_step * rates[3]

    def advance(state: tuple[Array, Array], step_noise: Array) -> tuple[tuple[Array, Array], Array]:
        prey, predators = state
        new_prey = prey * (growth - hunted * predators) + step_noise[0]
        food = new_prey if model.scheme == "code" else prey
        new_predators = predators * (death + fed * food) + step_noise[1]
        return (new_prey, new_predators), jnp.stack([new_prey, new_predators])

    start = (jnp.asarray(model.initial_state[0]), jnp.asarray(model.initial_state[1]))
    _, states = jax.lax.scan(advance, start, noise, unroll=_UNROLL)
    return states


def residuals(model: LotkaVolterraModel, inputs: Array) -> Array:
    """Simulated minus observed populations [step, 2] for inputs [input]."""
    return simulate(model, inputs) - model.observations


def step_design(model: LotkaVolterraModel) -> FloatArray:
    """Derivative of the step means at the observed states by the rates z [step, 2, 4]: means are linear in z."""
    prey, predators = model.previous_states.T
    food = model.observations[:, 0] if model.scheme == "code" else prey
    design = np.zeros((model.n_steps, 2, N_RATES))
    design[:, 0, 0] = prey
    design[:, 0, 1] = -prey * predators
    design[:, 1, 2] = -predators
    design[:, 1, 3] = food * predators
    return model.time_step * design


def noise_inputs(model: LotkaVolterraModel, rate_inputs: Array) -> Array:
    """Inputs u2 [2 step] that yield the observations given u1 [4]: standardised increments (section 4.7 solves)."""
    means = model.previous_states + step_design(model) @ jnp.exp(log_rates(model, rate_inputs))
    noise = (jnp.asarray(model.observations) - means) / jnp.asarray(model.step_sd)[None, :]
    return noise.reshape(-1)


def initial_inputs(model: LotkaVolterraModel, key: Array, centre: float = -4.0, spread: float = 0.1) -> Array:
    """Draws inputs [input] that yield exactly the observations: u1 normal about `centre`, as in the author's notebook.

    All rates are then small; with those of the prior, rounding errors grow by dozens of orders of magnitude.
    """
    rate_inputs = centre + spread * jax.random.normal(key, (N_RATES,), dtype=jnp.float64)
    return jnp.concatenate([rate_inputs, noise_inputs(model, rate_inputs)])
