"""Pseudo-marginal kernels on a latent Gaussian and on ABC posteriors, right and made wrong."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from auxmc.kernels.base import Kernel
from auxmc.kernels.pseudo_marginal import updates
from auxmc.kernels.pseudo_marginal.joint_hmc import pseudo_marginal_hmc
from auxmc.models.abc_kernels import abc_estimator, log_abc_kernel
from auxmc.models.estimator import Estimator
from tests.statistical.kernel_checks import Case, always, keeping, with_noise, with_numbers

OBSERVED = 1.5


def latent_estimator(n_importance, observed=OBSERVED):
    """x ~ N(0, 1), z | x ~ N(x, 1), y | z ~ N(z, 1), with z drawn from its prior as z = x + u."""

    def log_estimate(cache, auxiliary):
        log_weights = -0.5 * (observed - cache[0] - auxiliary) ** 2
        return -0.5 * cache[0] ** 2 + jax.nn.logsumexp(log_weights) - jnp.log(1.0 * n_importance)

    return Estimator(
        prepare=lambda position: position,
        log_estimate=log_estimate,
        draw_auxiliary=lambda key: jax.random.normal(key, (n_importance,)),
    )


def draw_auxiliary_given(key, n_importance, x, observed):
    """Exact draw of u [importance] given x: one of them, chosen at random, has the posterior of z - x."""
    key_choice, key_normal = jax.random.split(key)
    normal = jax.random.normal(key_normal, (n_importance,))
    chosen = jnp.arange(n_importance) == jax.random.randint(key_choice, (), 0, n_importance)
    return jnp.where(chosen, 0.5 * (observed - x) + jnp.sqrt(0.5) * normal, normal)


def with_auxiliary(estimator, state, auxiliary):
    """A state with given auxiliary variables and the estimate that belongs to them."""
    value = estimator.log_estimate(estimator.prepare(state.position), auxiliary)
    return state._replace(auxiliary=auxiliary, log_estimate=value)


def latent(build, n_importance, **options):
    """Case of a kernel of the latent model; transforms of x, then of its first auxiliary variable."""
    estimator = latent_estimator(n_importance)
    kernel = build(estimator)

    def start(key):
        key_x, key_u = jax.random.split(key)
        x = OBSERVED / 3.0 + jnp.sqrt(2.0 / 3.0) * jax.random.normal(key_x, (1,))
        u = draw_auxiliary_given(key_u, n_importance, x[0], OBSERVED)
        return with_auxiliary(estimator, kernel.init(x, key=key_u), u)

    def transform(state, _):
        x, u = state.position[0], state.auxiliary[0]
        posterior = ndtr((x - OBSERVED / 3.0) / jnp.sqrt(2.0 / 3.0))
        chosen = ndtr((u - 0.5 * (OBSERVED - x)) / jnp.sqrt(0.5))
        return jnp.stack([posterior, (chosen + (n_importance - 1) * ndtr(u)) / n_importance])

    again = lambda state: with_auxiliary(estimator, state, state.auxiliary)
    return Case(kernel, start, transform, again, **options)


def _update(build):
    def of(estimator):
        update = build(estimator)
        return Kernel(updates.pseudo_marginal_metropolis(estimator, 1.0, 1).init, update.draw, update.apply)

    # Updates of u do not move x.
    return latent(of, 4, floor=0.0)


def _method(name, n_importance):
    build = lambda estimator: updates.pseudo_marginal_method(name, estimator, 1.5, 1)
    return latent(build, n_importance, reversible=name in ("pm_mh", "cpm_mh"))


def _gaussian_abc():
    """Inputs u1, u2 with u1 + u2 observed near 1 by a Gaussian kernel: along (1, 1) and across it normal."""
    observed, tolerance, root = 1.0, 0.5, np.sqrt(2.0)
    precision = 1.0 + 2.0 / tolerance**2
    centre = observed * root / (tolerance**2 * precision)
    log_kernel = lambda u1, u2: log_abc_kernel("gaussian")(u1 + u2 - observed, tolerance)
    estimator = abc_estimator(log_kernel, lambda u: -0.5 * jnp.sum(jnp.square(u)), 1)
    kernel = updates.pseudo_marginal_method("apm_mi_mh", estimator, 1.0, 1)

    def start(key):
        total, difference = jax.random.normal(key, (2,))
        total = centre + total / jnp.sqrt(precision)
        state = kernel.init((total + difference)[None] / root, key=key)
        return with_auxiliary(estimator, state, (total - difference)[None] / root)

    def transform(state, _):
        u1, u2 = state.position[0], state.auxiliary[0]
        return ndtr(jnp.stack([((u1 + u2) / root - centre) * jnp.sqrt(precision), (u1 - u2) / root]))

    again = lambda state: with_auxiliary(estimator, state, state.auxiliary)
    return Case(kernel, start, transform, again, reversible=False)


_crank_nicolson = lambda estimator: updates.crank_nicolson_auxiliary(estimator, 0.6)
_random_walk = lambda estimator: updates.random_walk_auxiliary(estimator, 0.8)
_correlated = lambda estimator: updates.correlated_pseudo_marginal(estimator, 1.5, 0.6, 1)
CASES = {
    "independence auxiliary": lambda: _update(updates.independence_auxiliary),
    "random walk auxiliary": lambda: _update(_random_walk),
    "correlated": lambda: latent(_correlated, 1),
    "joint hmc": lambda: latent(lambda e: pseudo_marginal_hmc(e, 0.7, (1, 3), 1), 4),
    "pm_mh, 1": lambda: _method("pm_mh", 1),
}
SLOW = {
    "elliptical auxiliary": lambda: _update(updates.elliptical_auxiliary),
    "crank nicolson auxiliary": lambda: _update(_crank_nicolson),
    "metropolis position": lambda: _update(lambda estimator: updates.metropolis_position(estimator, 1.0, 1)),
    "slice position step out": lambda: _update(
        lambda estimator: updates.slice_position(estimator, 0.8, 1, 3)
    ),
    "gaussian abc": _gaussian_abc,
    **{f"{name}, {n}": partial(_method, name, n) for name in updates.METHODS for n in (1, 4)},  # one is fast
}


# --- made wrong ----------------------------------------------------------------------------------------


def _cycle(
    change_auxiliary=lambda _, update: update,
    change_position=lambda _, update: update,
    auxiliary=updates.independence_auxiliary,
    position=lambda estimator: updates.metropolis_position(estimator, 1.5, 1),
):
    """An APM kernel with one of its updates changed."""

    def build(estimator):
        first = change_auxiliary(estimator, auxiliary(estimator))
        second = change_position(estimator, position(estimator))
        return updates.auxiliary_pseudo_marginal(estimator, first, second)

    return build


def numbers(**changes):
    """Change of an update whose random numbers go through functions."""
    return lambda _, update: with_numbers(update, **changes)


def shrunk(numbers):
    """A standard deviation of 0.8 that no acceptance ratio corrects."""
    return 0.8 * numbers


def unshrunk_proposal_of_u(_, kernel):
    """Proposes u + 0.6 v in place of 0.8 u + 0.6 v, without correcting for it."""

    def change(noise, state):
        name = "auxiliary" if "auxiliary" in noise._fields else "move"
        return noise._replace(**{name: getattr(noise, name) + state.auxiliary * 0.2 / 0.6})

    return with_noise(kernel, change)


def no_density_of_u_in_the_ratio(_, update):
    """Random-walk update of u, of step 0.8, that accepts by the ratio of estimates alone."""

    def change(noise, state):
        proposed = state.auxiliary + 0.8 * noise.move
        excess = 0.5 * jnp.sum(proposed**2) - 0.5 * jnp.sum(state.auxiliary**2)
        return noise._replace(log_uniform=noise.log_uniform - excess)

    return with_noise(update, change)


def joint_hmc(**changes):
    """Pseudo-marginal HMC with its random numbers changed."""
    return lambda estimator: with_numbers(pseudo_marginal_hmc(estimator, 0.7, (1, 3), 1), **changes)


def fresh_u_for_the_proposal(estimator, update):
    """Update of x that compares an estimate with fresh u to the kept one, and keeps the old u."""

    def draw(key):
        return update.draw(key), estimator.draw_auxiliary(jax.random.fold_in(key, 9))

    def apply(noise, state):
        new, info = update.apply(noise[0], state._replace(auxiliary=noise[1]))
        return new._replace(auxiliary=state.auxiliary), info

    return updates.Update(draw, apply)


BROKEN_BUILDS = {
    # One of the new u and the new estimate is kept without the other.
    "auxiliary_not_stored": lambda e: keeping(updates.pseudo_marginal_metropolis(e, 1.5, 1), "auxiliary"),
    "estimate_not_stored": lambda e: keeping(updates.pseudo_marginal_metropolis(e, 1.5, 1), "log_estimate"),
    "u_always_accepted": _cycle(numbers(log_uniform=always)),
    "narrow_proposal_of_u": _cycle(numbers(move=shrunk)),
    "narrow_ellipse": _cycle(numbers(direction=shrunk), auxiliary=updates.elliptical_auxiliary),
    "unshrunk_proposal_of_u": _cycle(unshrunk_proposal_of_u, auxiliary=_crank_nicolson),
    "unshrunk_proposal_of_u_with_x": lambda e: unshrunk_proposal_of_u(e, _correlated(e)),
    "no_density_of_u_in_the_ratio": _cycle(no_density_of_u_in_the_ratio, auxiliary=_random_walk),
    "small_momentum_of_u": joint_hmc(spin=shrunk),
    "joint_trajectory_always_accepted": joint_hmc(
        trajectory=lambda n: n._replace(log_uniform=always(n.log_uniform))
    ),
    "fresh_u_for_the_proposal": _cycle(change_position=fresh_u_for_the_proposal),
    # After a move of x, u is updated at the old x.
    "cache_left_behind": _cycle(change_position=lambda _, update: keeping(update, "cache")),
    # The bracket is on one side of the current point.
    "one_sided_slice_of_x": _cycle(
        change_position=numbers(bracket_uniform=jnp.zeros_like, direction=jnp.ones_like),
        position=lambda estimator: updates.slice_position(estimator, 1.5, 1),
    ),
}
BROKEN = {name: partial(latent, build, 1) for name, build in BROKEN_BUILDS.items()}
