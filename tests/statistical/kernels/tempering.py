"""Tempering kernels, right and made wrong, on joint distributions of position and temperature."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logit, ndtr

from auxmc.kernels.tempering import continuous_tempering
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.numerics.schedules import sigmoidal_schedule
from auxmc.numerics.truncated_exponential import draw_inverse_temperature, log_base_weight
from tests.statistical.kernel_checks import Case, with_end
from tests.statistical.kernels.manifold import cdf_on

LADDER = sigmoidal_schedule(5)
GRID = np.linspace(-14.0, 14.0, 40_001)


def _log_two_modes(x):
    """0.6 N(-2, 0.6^2) + 0.4 N(2.5, 1), normalised."""
    left = -0.5 * jnp.square((x[0] + 2.0) / 0.6)
    return jnp.logaddexp(left, jnp.log(0.4) - 0.5 * jnp.square(x[0] - 2.5)) - 0.5 * jnp.log(2.0 * jnp.pi)


BASE, LOG_ZETA = gaussian_base(jnp.array([-0.2]), jnp.array([2.4])), 0.4
BRIDGE = bridge(_log_two_modes, BASE, LOG_ZETA)


def _scaled_ends(x):
    """Log densities of the target over zeta and of the base."""
    target, base = BRIDGE.log_densities(x)
    return target - BRIDGE.log_zeta, base


@cache
def _marginal(continuous):
    """Distribution function of the position on the grid, by whether the temperature is continuous."""
    target, base = map(np.asarray, jax.jit(jax.vmap(_scaled_ends))(jnp.asarray(GRID)[:, None]))
    if continuous:
        values = base - np.asarray(log_base_weight(jnp.asarray(base - target)))
    else:
        values = base + np.logaddexp.reduce(-np.outer(base - target, LADDER), axis=1)
    return np.asarray(cdf_on(np.exp(values - values.max())))


def _continuous_cdf(delta, b, _):
    size = jnp.maximum(jnp.abs(delta), 1e-12)
    nearer = jnp.expm1(-size * jnp.where(delta > 0.0, b, 1.0 - b)) / jnp.expm1(-size)
    return jnp.where(delta > 0.0, nearer, 1.0 - nearer)


def _index_cdf(delta, index, fresh):
    probabilities = jax.nn.softmax(-delta * jnp.asarray(LADDER))
    return jnp.cumsum(probabilities)[index] - (1.0 - fresh) * probabilities[index]


def _joint(kernel, draw_control, temperature, continuous, reversible=False):
    """Case of a kernel on position and temperature.

    `draw_control` maps (position, uniform number) to what a state starts with besides its position, `temperature` a
    state to its inverse temperature or index.
    """
    grid, marginal = jnp.asarray(GRID), jnp.asarray(_marginal(continuous))
    cdf = _continuous_cdf if continuous else _index_cdf

    def start(key):
        key_x, key_control, key_init = jax.random.split(key, 3)
        x = jnp.interp(jax.random.uniform(key_x), marginal, grid)[None]
        return kernel.init(x, draw_control(x, jax.random.uniform(key_control)), key=key_init)

    def transform(state, fresh):
        target, base = _scaled_ends(state.position)
        given = cdf(base - target, temperature(state), fresh)
        return jnp.stack([jnp.interp(state.position[0], grid, marginal), given])

    return Case(kernel, start, transform, lambda state: state, floor=0.4, reversible=reversible)


def _draw_index(x, uniform):
    target, base = _scaled_ends(x)
    cumulative = jnp.cumsum(jax.nn.softmax(-jnp.asarray(LADDER) * (base - target)))
    return jnp.minimum(jnp.sum(cumulative <= uniform), len(LADDER) - 1).astype(jnp.int32)


def _draw_b(x, uniform):
    target, base = _scaled_ends(x)
    return jnp.clip(draw_inverse_temperature(uniform, base - target), 1e-15, 1.0 - 1e-15)


def _gibbs(**options):
    kernel = continuous_tempering.gibbs_continuous_tempering(BRIDGE, 0.5, 3, **options)
    return _joint(kernel, _draw_b, lambda state: state.inverse_temperature, True)


def _extended(mass, reversible, **options):
    """With all momenta renewed the extended dynamics are reversible in position and temperature together."""
    kernel = continuous_tempering.continuously_tempered_hmc(BRIDGE, 0.4, 3, mass, **options)
    control = lambda x, uniform: logit(_draw_b(x, uniform))
    return _joint(kernel, control, lambda state: state.inverse_temperature, True, reversible)


def _ladder(index_update):
    kernel = simulated_tempering(BRIDGE, LADDER, 0.5, 3, index_update=index_update)
    return _joint(kernel, _draw_index, lambda state: state.index, False)


MEAN, SD = 2.0, 0.6


def _path_of_normals(b):
    """Mean and sd of the position at an inverse temperature on the path from a standard normal to N(MEAN, SD^2)."""
    precision = b / SD**2 + 1.0 - b
    return b * MEAN / SD**2 / precision, precision**-0.5


def _log_normaliser(b, log_zeta):
    """Log of the integral over positions at inverse temperatures, the target being unnormalised."""
    precision = b / SD**2 + 1.0 - b
    constant = -b * (0.5 * MEAN**2 / SD**2 + log_zeta) - (1.0 - b) * 0.5 * np.log(2.0 * np.pi)
    return constant + 0.5 * (b * MEAN / SD**2) ** 2 / precision - 0.5 * np.log(precision)


def _plateaus(log_zeta_used=0.3, **options):
    """Control with plateaus up to 0.7 and from 2 on, the inverse temperature and the potential written out.

    The position is normal given the control, whose log density is known on a grid; another log zeta in use is wrong.
    """
    low, high, log_zeta = 0.7, 2.0, 0.3
    base = gaussian_base(jnp.zeros(1), jnp.ones(1))
    normals = bridge(lambda x: -0.5 * ((x[0] - MEAN) / SD) ** 2, base, log_zeta_used)
    kernel = continuous_tempering.plateau_tempered_hmc(normals, 0.3, 3, (low, high), 0.5, **options)

    def temperature(u):
        return 0.5 + 0.5 * jnp.cos(jnp.pi * jnp.clip((jnp.abs(u) - low) / (high - low), 0.0, 1.0))

    grid = jnp.linspace(-9.0, 9.0, 40_001)
    potential = 0.5 * np.maximum(np.abs(grid) - high, 0.0) ** 2
    marginal = cdf_on(np.exp(_log_normaliser(np.asarray(temperature(grid)), log_zeta) - potential))

    def start(key):
        key_control, key_x, key_init = jax.random.split(key, 3)
        control = jnp.interp(jax.random.uniform(key_control), marginal, grid)
        centre, spread = _path_of_normals(temperature(control))
        return kernel.init((centre + spread * jax.random.normal(key_x, ()))[None], control, key=key_init)

    def transform(state, _):
        centre, spread = _path_of_normals(temperature(state.control))
        place = jnp.interp(state.control, grid, marginal)
        return jnp.stack([place, ndtr((state.position[0] - centre) / spread)])

    return Case(kernel, start, transform, lambda state: state, floor=0.4, reversible=False)


def _nuts(step_size, log_zeta_used=LOG_ZETA):
    """Another log zeta in use is wrong."""
    joined = bridge(_log_two_modes, BASE, log_zeta_used)
    kernel = tempered_nuts(joined, step_size, jnp.array([5.0, 2.0]), max_doublings=4)
    control = lambda x, uniform: logit(_draw_b(x, uniform))
    case = _joint(kernel, control, lambda state: state.inverse_temperature, True)
    return case._replace(n_steps=1, batch_size=1000)


PARTIAL = {"refreshment": 0.5, "integrator": "kick_drift_kick"}
CASES = {
    "gibbs tempering": _gibbs,
    "extended tempering": partial(_extended, 1.0, True),
    "independent index": partial(_ladder, "independent"),
}
SLOW = {
    "plateau tempering": _plateaus,
    "tempered no-U-turn": partial(_nuts, 0.4),
    "tempered no-U-turn, long steps": partial(_nuts, 1.2),
    "gibbs tempering partial": partial(_gibbs, **PARTIAL),
    "extended tempering partial": partial(_extended, 4.0, False, **PARTIAL),
    "plateau tempering partial": partial(_plateaus, **PARTIAL),
    "random-walk index": partial(_ladder, "random_walk"),
}


# --- made wrong: the new state, changed by (noise, old state, new state) ----------------------------------


def tempering_without_jacobian(noise, state, new):
    """Extended dynamics whose density lacks the derivative of the logistic map: u has no proper distribution."""
    volume = lambda state: jax.nn.softplus(state.control) + jax.nn.softplus(-state.control)
    kept = noise.log_uniform < jnp.minimum(volume(state) - volume(new), 0.0)
    return jax.tree.map(lambda a, b: jnp.where(kept, a, b), new, state)


def swapped_temperature(noise, state, new):
    """Temperature drawn for the negative of the difference."""
    return new._replace(inverse_temperature=1.0 - new.inverse_temperature)


def stale_difference(noise, state, new):
    """Temperature drawn for the position before the move."""
    return new._replace(inverse_temperature=draw_inverse_temperature(noise.uniform, state.delta))


def ends_without_proposal_ratio(noise, state, new):
    """Random walk on the ladder whose ends are left as often as any other rung."""
    last = len(LADDER) - 1
    logits = -jnp.asarray(LADDER) * new.delta
    side = jnp.where(noise.uniforms[0] < 0.5, -1, 1)
    side = jnp.where(state.index == 0, 1, jnp.where(state.index == last, -1, side))
    proposed = (state.index + side).astype(jnp.int32)
    accepted = jnp.log(noise.uniforms[1]) < logits[proposed] - logits[state.index]
    return new._replace(index=jnp.where(accepted, proposed, state.index))


def _changed(build, change):
    case = build()
    return case._replace(kernel=with_end(case.kernel, change))


BROKEN = {
    change.__name__: partial(_changed, (CASES | SLOW)[name], change)
    for name, change in (
        ("extended tempering", tempering_without_jacobian),
        ("gibbs tempering", swapped_temperature),
        ("gibbs tempering", stale_difference),
        ("random-walk index", ends_without_proposal_ratio),
    )
}
BROKEN["plateaus_with_another_log_zeta"] = partial(_plateaus, 0.8)
BROKEN["tempering_with_another_log_zeta"] = partial(_nuts, 0.4, 0.9)
