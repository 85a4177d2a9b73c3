"""Transition matrices of Metropolis and pseudo-marginal kernels on a few states, all random numbers enumerated."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.metropolis.metropolis import (
    IndependenceNoise,
    RandomWalkNoise,
    metropolis_independence,
    random_walk_metropolis,
)
from auxmc.kernels.pseudo_marginal.updates import independence_auxiliary, pseudo_marginal_metropolis
from auxmc.models.estimator import Estimator

# Unnormalised probabilities of the points 0, ..., 4; everything else has none.
WEIGHTS = np.array([0.5, 2.0, 0.1, 1.0, 3.0])
PROPOSAL = np.array([0.3, 0.1, 0.2, 0.25, 0.15])
# Two values of u with their probabilities, and the estimates of the weights: their mean is 1.
DISTRIBUTION_OF_U = np.array([0.25, 0.75])
NOISE = np.array([2.2, 0.6])
N_BISECTIONS = 60


def log_weight(position):
    place = jnp.round(position[0]).astype(jnp.int32)
    inside = (place >= 0) & (place < len(WEIGHTS))
    return jnp.where(inside, jnp.log(jnp.asarray(WEIGHTS))[jnp.clip(place, 0, len(WEIGHTS) - 1)], -jnp.inf)


def accept_probabilities(transition, cases):
    """exp of the largest log uniform that is accepted, by halving: a kernel is asked only whether it accepts.

    Args:
        transition: maps numbers of a case and a log uniform to whether the proposal is accepted.
        cases: rows of numbers.
    """

    def one(numbers):
        def halve(_, ends):
            low, high = ends
            middle = 0.5 * (low + high)
            yes = transition(numbers, middle)
            return jnp.where(yes, middle, low), jnp.where(yes, high, middle)

        lowest = jnp.asarray(-30.0)
        low, _ = jax.lax.fori_loop(0, N_BISECTIONS, halve, (lowest, jnp.asarray(0.0)))
        # Below the smallest number tried nothing is accepted.
        return jnp.where(transition(numbers, lowest), jnp.exp(low), 0.0)

    found = jax.jit(jax.vmap(one))(jnp.asarray(cases, float))
    return [float(value) for value in found]


def check_stationary_and_reversible(matrix, weights):
    distribution = weights / weights.sum()
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(distribution @ matrix, distribution, atol=1e-12)
    flow = distribution[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, atol=1e-12)


def with_rejections(moves):
    return moves + np.diag(1.0 - moves.sum(axis=1))


def test_the_random_walk_keeps_the_probabilities_of_five_points():
    kernel = random_walk_metropolis(log_weight, 1.0, 1)

    def transition(numbers, log_uniform):
        start, step = numbers
        return kernel.apply(
            RandomWalkNoise(step[None], log_uniform), kernel.init(jax.random.key(0), start[None])
        )[1].accepted

    moves = np.zeros((5, 5))
    cases = list(product(range(5), (-1, 1)))
    for (start, step), found in zip(cases, accept_probabilities(transition, cases), strict=True):
        if 0 <= start + step < 5:
            moves[start, start + step] += 0.5 * found
        else:
            assert found == 0.0
    check_stationary_and_reversible(with_rejections(moves), WEIGHTS)


def test_independence_proposals_keep_the_probabilities_of_five_points():
    log_proposal = jnp.log(jnp.asarray(PROPOSAL))
    kernel = metropolis_independence(
        lambda x: log_weight(x) - log_proposal[jnp.round(x[0]).astype(jnp.int32)], lambda key: jnp.zeros(1)
    )

    def transition(numbers, log_uniform):
        start, end = numbers
        noise = IndependenceNoise(end[None], log_uniform)
        return kernel.apply(noise, kernel.init(jax.random.key(0), start[None]))[1].accepted

    moves = np.zeros((5, 5))
    cases = list(product(range(5), range(5)))
    for (start, end), found in zip(cases, accept_probabilities(transition, cases), strict=True):
        moves[start, end] += PROPOSAL[end] * found
    check_stationary_and_reversible(with_rejections(moves), WEIGHTS)


def _estimator():
    return Estimator(
        prepare=lambda x: x,
        log_estimate=lambda x, u: log_weight(x) + jnp.log(jnp.asarray(NOISE))[u[0].astype(jnp.int32)],
        draw_auxiliary=lambda key: jnp.zeros(1),
    )


PAIRS = list(product(range(5), range(2)))
JOINT = np.array([WEIGHTS[x] * DISTRIBUTION_OF_U[u] * NOISE[u] for x, u in PAIRS])


def _state(template, x, u):
    position, auxiliary = x[None], u[None]
    value = _estimator().log_estimate(position, auxiliary)
    return template._replace(position=position, auxiliary=auxiliary, log_estimate=value, cache=position)


def test_the_estimates_are_unbiased():
    np.testing.assert_allclose(DISTRIBUTION_OF_U @ NOISE, 1.0, rtol=1e-15)


def test_pseudo_marginal_metropolis_keeps_the_joint_probabilities():
    """All steps of x and all fresh u: stationary for estimate times probability of u, and so for the weights of x."""
    kernel = pseudo_marginal_metropolis(_estimator(), 1.0, 1)
    template, start = kernel.draw(jax.random.key(0)), kernel.init(jax.random.key(0), jnp.zeros(1))

    def transition(numbers, log_uniform):
        x, u, step, new_u = numbers
        noise = template._replace(normal=step[None], auxiliary=new_u[None], log_uniform=log_uniform)
        return kernel.apply(noise, _state(start, x, u))[1].accepted_position

    moves = np.zeros((10, 10))
    cases = [(*pair, step, new) for pair, step, new in product(PAIRS, (-1, 1), range(2))]
    for (x, u, step, new), found in zip(cases, accept_probabilities(transition, cases), strict=True):
        if 0 <= x + step < 5:
            moves[PAIRS.index((x, u)), PAIRS.index((x + step, new))] += 0.5 * DISTRIBUTION_OF_U[new] * found
        else:
            assert found == 0.0
    matrix = with_rejections(moves)
    check_stationary_and_reversible(matrix, JOINT)
    marginal = JOINT.reshape(5, 2).sum(axis=1)
    np.testing.assert_allclose(marginal, WEIGHTS, rtol=1e-14)


def test_a_fresh_estimate_at_the_current_point_would_not_keep_them():
    """The well-known wrong variant: the current estimate is drawn again in each step."""
    moves = np.zeros((5, 5))
    for x, step, old, new in product(range(5), (-1, 1), range(2), range(2)):
        if 0 <= x + step < 5:
            ratio = WEIGHTS[x + step] * NOISE[new] / (WEIGHTS[x] * NOISE[old])
            moves[x, x + step] += 0.5 * DISTRIBUTION_OF_U[old] * DISTRIBUTION_OF_U[new] * min(1.0, ratio)
    with pytest.raises(AssertionError):
        check_stationary_and_reversible(with_rejections(moves), WEIGHTS)


def test_an_update_of_u_alone_keeps_its_conditional_probabilities():
    start = pseudo_marginal_metropolis(_estimator(), 1.0, 1).init(jax.random.key(0), jnp.zeros(1))
    update = independence_auxiliary(_estimator())
    template = update.draw(jax.random.key(0))

    def transition(numbers, log_uniform):
        x, u, new_u = numbers
        noise = template._replace(auxiliary=new_u[None], log_uniform=log_uniform)
        return update.apply(noise, _state(start, x, u))[1].accepted_auxiliary

    cases = list(product(range(5), range(2), range(2)))
    moves = np.zeros((5, 2, 2))
    for (x, u, new), found in zip(cases, accept_probabilities(transition, cases), strict=True):
        moves[x, u, new] += DISTRIBUTION_OF_U[new] * found
    for matrix in moves:
        check_stationary_and_reversible(with_rejections(matrix), DISTRIBUTION_OF_U * NOISE)
