"""Pseudo-marginal Metropolis-Hastings and the auxiliary pseudo-marginal methods, all on one state.

Every kernel leaves the joint distribution of target and auxiliary variables, proportional to estimate(x, u) rho(u),
invariant. The estimate at the current state is kept, never made again: that is what makes them exact.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import FROM_POSITION, Kernel, check_integer, pytree_positions, require_key, select
from auxmc.kernels.metropolis.metropolis import MoveNoise, metropolis_accept, move_noise, random_walk_noise
from auxmc.kernels.slices.core import MAX_PASSES, Candidate
from auxmc.kernels.slices.elliptical_slice import draw_ellipse, shrink_ellipse
from auxmc.kernels.slices.linear_slice import draw_line, shrink_line
from auxmc.models.estimator import Estimator
from auxmc.numerics.linalg import scaled

METHODS = (
    "pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_mi_ss", "apm_ss_ss", "cpm_mh", "apm_cn_mh", "apm_rw_mh",
)  # fmt: skip
"""Names for `pseudo_marginal_method`: PM MH, APM with the update of u and the update of x, correlated PM MH."""

MAX_INITIAL_DRAWS = 100
"""Draws of the auxiliary variables after which `init` returns a state whose log estimate is not finite."""


class PseudoMarginalState(NamedTuple):
    """Target x [dim], auxiliary variables u, log density estimate there in nats, and what was prepared for x."""

    position: Array
    auxiliary: Array
    log_estimate: Array
    cache: Any


class PseudoMarginalInfo(NamedTuple):
    """What one step did."""

    accepted_position: Array  # whether x moved (bool)
    accepted_auxiliary: Array  # whether u moved in an update of its own or jointly with x (bool)
    n_estimates_position: Array  # density estimates made to update x, or x and u jointly (int32)
    n_estimates_auxiliary: Array  # density estimates made to update u alone (int32)
    n_cubic: Array  # cubic-cost operations spent, including those for rejected proposals (int32)
    n_failures: Array  # numerical failures at proposals, including rejected ones (int32)
    n_collapsed: Array  # slice updates that found no new point and kept the state (int32)


class Update(NamedTuple):
    """Part of a step, an update of x or of u with the other fixed: the functions `draw` and `apply` of a Kernel."""

    draw: Callable[[Array], Any]
    apply: Callable[[Any, PseudoMarginalState], tuple[PseudoMarginalState, PseudoMarginalInfo]]


class _JointNoise(NamedTuple):
    move: Array
    log_uniform: Array
    auxiliary: Array


@pytree_positions("estimator.prepare")
def pseudo_marginal_metropolis(
    estimator: Estimator, scale: Array | float, dim: int = FROM_POSITION
) -> Kernel:
    """Pseudo-marginal Metropolis-Hastings: a random-walk proposal of x and fresh u, accepted together.

    Args:
        estimator: density estimator.
        scale: standard deviation of the proposal, a scalar or one per coordinate [dim], or the lower Cholesky factor of
            its covariance [dim, dim]; may be traced.
        dim: number of target variables; taken from the position unless given.

    Returns:
        Kernel on PseudoMarginalState with `init(position, key=key)`, one density estimate a step.

    Raises:
        ValueError: dim is not positive.

    Source: PhD thesis, Algorithm 8 and Eq. 3.11.
    """
    return _joint_metropolis(estimator, scale, dim, lambda fresh, _: fresh)


@pytree_positions("estimator.prepare")
def correlated_pseudo_marginal(
    estimator: Estimator, scale: Array | float, auxiliary_step: Array | float, dim: int = FROM_POSITION
) -> Kernel:
    """Correlated pseudo-marginal Metropolis-Hastings: x and a u near the current one, accepted together.

    Args:
        estimator: density estimator whose auxiliary variables are standard normal.
        scale: as a factor of standard normal steps of x: scalar, one per coordinate [dim], or lower Cholesky factor
            [dim, dim]; may be traced.
        auxiliary_step: lambda in (0, 1] of the proposal sqrt(1 - lambda^2) u + lambda v, v standard normal; 1 is
            `pseudo_marginal_metropolis`. May be traced.
        dim: number of target variables; taken from the position unless given.

    Returns:
        Kernel on PseudoMarginalState with `init(position, key=key)`, one density estimate a step.

    Raises:
        ValueError: dim is not positive.

    Source: PhD thesis, section 3.7 and Eq. 3.20; Deligiannidis, Doucet and Pitt (2018), Dahlin et al. (2015).
    """
    return _joint_metropolis(estimator, scale, dim, _crank_nicolson(auxiliary_step))


def auxiliary_pseudo_marginal(
    estimator: Estimator, auxiliary_update: Update, position_update: Update
) -> Kernel:
    """Cycle of an update of u with x fixed and an update of x with u fixed, in this order.

    Args:
        estimator: density estimator, the same as that of the updates.
        auxiliary_update: as from `independence_auxiliary`, `elliptical_auxiliary`, `crank_nicolson_auxiliary` or
            `random_walk_auxiliary`.
        position_update: as from `metropolis_position` or `slice_position`.

    Returns:
        Kernel on PseudoMarginalState with `init(position, key=key)`; the info adds up both updates.

    Source: PhD thesis, Algorithm 9 and section 3.5.
    """

    def draw(key: Array) -> tuple[Any, Any]:
        return (
            auxiliary_update.draw(jax.random.fold_in(key, 0)),
            position_update.draw(jax.random.fold_in(key, 1)),
        )

    def apply(
        noise: tuple[Any, Any], state: PseudoMarginalState
    ) -> tuple[PseudoMarginalState, PseudoMarginalInfo]:
        state, auxiliary_info = auxiliary_update.apply(noise[0], state)
        state, position_info = position_update.apply(noise[1], state)
        # The field types decide: flags are combined by `or`, counts are added.
        return state, jax.tree.map(jnp.add, auxiliary_info, position_info)

    return Kernel(initialiser(estimator), draw, apply)


def independence_auxiliary(estimator: Estimator) -> Update:
    """Metropolis independence update of u: fresh u ~ rho, one density estimate, x and its cache fixed.

    Source: PhD thesis, Algorithm 10 and section 3.5 (APM MI).
    """
    return _metropolis_auxiliary(estimator, lambda fresh, _: fresh)


def crank_nicolson_auxiliary(estimator: Estimator, auxiliary_step: Array | float) -> Update:
    """Metropolis update of standard normal u by a step of fixed size on an ellipse, x and its cache fixed.

    The proposal sqrt(1 - lambda^2) u + lambda v, v standard normal, leaves rho invariant: one density estimate decides.

    Args:
        estimator: density estimator whose auxiliary variables are standard normal.
        auxiliary_step: lambda in (0, 1]; 1 is `independence_auxiliary`. May be traced.

    Source: PhD thesis, section 3.7, Eq. 3.20.
    """
    return _metropolis_auxiliary(estimator, _crank_nicolson(auxiliary_step))


def random_walk_auxiliary(estimator: Estimator, auxiliary_step: Array | float) -> Update:
    """Random-walk Metropolis update of standard normal u, x and its cache fixed: one density estimate.

    Args:
        estimator: density estimator whose auxiliary variables are standard normal.
        auxiliary_step: standard deviation of the proposal, positive; may be traced.

    Source: PhD thesis, section 3.5.
    """
    return _metropolis_auxiliary(
        estimator,
        lambda normal, current: current + auxiliary_step * normal,
        lambda auxiliary: -0.5 * jnp.sum(jnp.square(auxiliary)),
    )


def elliptical_auxiliary(estimator: Estimator) -> Update:
    """Elliptical slice update of u with x fixed; exact only where rho is a standard normal distribution.

    All of u turns by one angle. Every pass is one density estimate with the cache of x.

    Source: PhD thesis, section 3.5 (APM SS) and Algorithm 5.
    """

    def apply(noise: Any, state: PseudoMarginalState) -> tuple[PseudoMarginalState, PseudoMarginalInfo]:
        shrunk = shrink_ellipse(
            noise,
            Candidate(state.auxiliary, state.log_estimate),
            lambda u: Candidate(u, estimator.log_estimate(state.cache, u)),
        )
        state = state._replace(auxiliary=shrunk.candidate.point, log_estimate=shrunk.candidate.log_density)
        info = info_of(
            accepted_auxiliary=shrunk.moved,
            n_estimates_auxiliary=shrunk.info.n_evaluations,
            n_collapsed=shrunk.info.n_collapsed,
        )
        return state, info

    return Update(lambda key: draw_ellipse(key, estimator.draw_auxiliary), apply)


@pytree_positions("estimator.prepare")
def metropolis_position(estimator: Estimator, scale: Array | float, dim: int = FROM_POSITION) -> Update:
    """Random-walk Metropolis update of x with u fixed: one density estimate.

    Args:
        estimator: density estimator.
        scale: standard deviation of the proposal, a scalar or one per coordinate [dim], or the lower Cholesky factor of
            its covariance [dim, dim]; may be traced.
        dim: number of target variables; taken from the position unless given.

    Raises:
        ValueError: dim is not positive.

    Source: PhD thesis, section 3.5 (APM MH).
    """

    def apply(noise: Any, state: PseudoMarginalState) -> tuple[PseudoMarginalState, PseudoMarginalInfo]:
        return _random_walk(estimator, scale, noise, state.auxiliary, state)

    return Update(random_walk_noise(dim), apply)


@pytree_positions("estimator.prepare")
def slice_position(
    estimator: Estimator,
    width: Array | float,
    dim: int = FROM_POSITION,
    max_step_outs: int = 0,
    *,
    max_passes: int = MAX_PASSES,
) -> Update:
    """Linear slice update of x along a random direction, with u fixed.

    The cache of each proposed x travels with it through the loop, so that none is prepared twice.

    Args:
        estimator: density estimator.
        width: initial bracket width, in the units of x (positive scalar, may be traced).
        dim: number of target variables; taken from the position unless given.
        max_step_outs: total number of steps of length `width` by which the bracket may grow.
        max_passes: number of proposals after which an update keeps its state and counts a collapse.

    Raises:
        ValueError: dim is not positive, or max_step_outs is negative.

    Source: PhD thesis, section 3.5 (APM SS) and Algorithm 4.
    """
    check_integer("max_step_outs", max_step_outs, 0)

    def apply(noise: Any, state: PseudoMarginalState) -> tuple[PseudoMarginalState, PseudoMarginalInfo]:
        def evaluate(position: Array) -> Candidate:
            cache = estimator.prepare(position)
            work = (estimator.n_cubic(cache), estimator.n_failures(cache))
            return Candidate(position, estimator.log_estimate(cache, state.auxiliary), cache, work)

        current = Candidate(state.position, state.log_estimate, state.cache, (_zero(), _zero()))
        shrunk = shrink_line(noise, width, current, evaluate, max_step_outs, max_passes)
        new = shrunk.candidate
        n_cubic, n_failures = new.work
        info = info_of(
            accepted_position=shrunk.moved,
            n_estimates_position=shrunk.info.n_evaluations,
            n_cubic=n_cubic,
            n_failures=n_failures,
            n_collapsed=shrunk.info.n_collapsed,
        )
        return PseudoMarginalState(new.point, state.auxiliary, new.log_density, new.extra), info

    return Update(lambda key: draw_line(key, dim, max_step_outs), apply)


def pseudo_marginal_method(
    name: str,
    estimator: Estimator,
    scale: Array | float,
    dim: int = FROM_POSITION,
    auxiliary_step: Array | float = 0.5,
) -> Kernel:
    """Builds a method by name.

    Args:
        name: one of METHODS.
        estimator: density estimator; only `pm_mh` and `apm_mi_*` do without standard normal u.
        scale: step size of the MH update of x, or initial bracket width of its slice update; may be traced.
        dim: number of target variables; taken from the position unless given.
        auxiliary_step: step size of u in `cpm_mh`, `apm_cn_mh` and `apm_rw_mh`, unused otherwise; may be traced.

    Returns:
        Kernel on PseudoMarginalState with `init(position, key=key)`.

    Raises:
        ValueError: name is not one of METHODS, or dim is not positive.
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}: expected one of {', '.join(METHODS)}")
    if name == "pm_mh":
        return pseudo_marginal_metropolis(estimator, scale, dim)
    if name == "cpm_mh":
        return correlated_pseudo_marginal(estimator, scale, auxiliary_step, dim)
    _, auxiliary, position = name.split("_")
    if auxiliary in ("cn", "rw"):
        build = crank_nicolson_auxiliary if auxiliary == "cn" else random_walk_auxiliary
        auxiliary_update = build(estimator, auxiliary_step)
    else:
        auxiliary_update = (independence_auxiliary if auxiliary == "mi" else elliptical_auxiliary)(estimator)
    position_update = (metropolis_position if position == "mh" else slice_position)(estimator, scale, dim)
    return auxiliary_pseudo_marginal(estimator, auxiliary_update, position_update)


def _crank_nicolson(auxiliary_step: Array | float) -> Callable[[Array, Array], Array]:
    """Maps standard normal numbers and the current u to the proposal of Eq. 3.20."""
    kept = jnp.sqrt(1.0 - jnp.square(auxiliary_step))
    return lambda normal, current: kept * current + auxiliary_step * normal


def _joint_metropolis(
    estimator: Estimator, scale: Array | float, dim: int, propose: Callable[[Array, Array], Array]
) -> Kernel:
    """Random walk of x with u from `propose(fresh u, current u)`, which leaves rho invariant; accepted together."""

    def draw(key: Array) -> _JointNoise:
        fresh = estimator.draw_auxiliary(jax.random.fold_in(key, 2))
        return _JointNoise(*random_walk_noise(dim)(key), fresh)

    def apply(
        noise: _JointNoise, state: PseudoMarginalState
    ) -> tuple[PseudoMarginalState, PseudoMarginalInfo]:
        auxiliary = propose(noise.auxiliary, state.auxiliary)
        state, info = _random_walk(estimator, scale, noise, auxiliary, state)
        return state, info._replace(accepted_auxiliary=info.accepted_position)

    return Kernel(initialiser(estimator), draw, apply)


def _metropolis_auxiliary(
    estimator: Estimator,
    propose: Callable[[Array, Array], Array],
    log_factor: Callable[[Array], Array | float] = lambda _: 0.0,
) -> Update:
    """Metropolis update of u to `propose(fresh u, current u)`; `log_factor(u)` is what its ratio needs of rho."""

    def apply(noise: MoveNoise, state: PseudoMarginalState) -> tuple[PseudoMarginalState, PseudoMarginalInfo]:
        auxiliary = propose(noise.move, state.auxiliary)
        log_estimate = estimator.log_estimate(state.cache, auxiliary)
        accepted = metropolis_accept(
            noise.log_uniform,
            log_estimate + log_factor(auxiliary),
            state.log_estimate + log_factor(state.auxiliary),
        )
        state = state._replace(
            auxiliary=jnp.where(accepted, auxiliary, state.auxiliary),
            log_estimate=jnp.where(accepted, log_estimate, state.log_estimate),
        )
        return state, info_of(accepted_auxiliary=accepted, n_estimates_auxiliary=jnp.ones((), jnp.int32))

    return Update(move_noise(estimator.draw_auxiliary), apply)


def _zero() -> Array:
    return jnp.zeros((), jnp.int32)


def info_of(**found: Array) -> PseudoMarginalInfo:
    """Fills in False and 0 for what an update does not do."""
    flags, counts = [jnp.zeros((), bool)] * 2, [_zero()] * 5
    return PseudoMarginalInfo(*flags, *counts)._replace(**found)


def _random_walk(
    estimator: Estimator, scale: Array | float, noise: Any, auxiliary: Array, state: PseudoMarginalState
) -> tuple[PseudoMarginalState, PseudoMarginalInfo]:
    """Metropolis update of x, and of u to the one given."""
    position = state.position + scaled(scale, noise.move)
    cache = estimator.prepare(position)
    log_estimate = estimator.log_estimate(cache, auxiliary)
    accepted = metropolis_accept(noise.log_uniform, log_estimate, state.log_estimate)
    info = info_of(
        accepted_position=accepted,
        n_estimates_position=jnp.ones((), jnp.int32),
        n_cubic=estimator.n_cubic(cache),
        n_failures=estimator.n_failures(cache),
    )
    return select(accepted, PseudoMarginalState(position, auxiliary, log_estimate, cache), state), info


def initialiser(estimator: Estimator) -> Callable[..., PseudoMarginalState]:
    """Returns `init(position, key=key)`, which draws u ~ rho until the log estimate is finite."""

    def init(position: Array, key: Array | None = None) -> PseudoMarginalState:
        cache, key = estimator.prepare(position), require_key(key)

        def attempt(loop: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            n_draws, _, _ = loop
            auxiliary = estimator.draw_auxiliary(jax.random.fold_in(key, n_draws))
            return n_draws + 1, auxiliary, estimator.log_estimate(cache, auxiliary)

        def retry(loop: tuple[Array, Array, Array]) -> Array:
            n_draws, _, log_estimate = loop
            return ~jnp.isfinite(log_estimate) & (n_draws < MAX_INITIAL_DRAWS)

        _, *shapes = jax.eval_shape(attempt, (_zero(), None, None))
        no_auxiliary, no_estimate = (jnp.zeros(leaf.shape, leaf.dtype) for leaf in shapes)
        start = (_zero(), no_auxiliary, no_estimate - jnp.inf)
        _, auxiliary, log_estimate = lax.while_loop(retry, attempt, start)
        return PseudoMarginalState(position, auxiliary, log_estimate, cache)

    return init
