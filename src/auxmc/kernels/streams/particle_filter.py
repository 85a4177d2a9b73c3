"""Sequential importance resampling of a population of particles, and the bootstrap particle filter made of it."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import check_integer
from auxmc.numerics.annealing import log_effective_size
from auxmc.sampling.resampling import systematic_indices

Resampling = Callable[[Array, Array, int], Array]


class SequentialRun(NamedTuple):
    """What became of the particles, at each step after weighting and before resampling.

    Attributes:
        log_evidence: log of the estimated normaliser of the steps so far [step], float64 in nats; minus infinity from
            the step on at which no particle has a weight.
        particles: [step, particle, ...].
        log_weights: accumulated since the last resampling [step, particle], in nats.
        ancestors: number of the particle from which each particle of the next step descends [step, particle]
            (int32); its own number where there was no resampling.
        effective_fraction: effective size of the weights as a fraction of the particles [step].
        resampled: whether particles were drawn again after the step [step] (bool).
        n_not_finite: particles whose log weight, or correction for the proposal, was NaN or plus infinity, which counts
            as no weight [step] (int32).
        last: particles after the last resampling and move [particle, ...], with the weights `last_log_weights`.
        last_log_weights: [particle], in nats; they average to 1, in expectation with proposals of one's own.
    """

    log_evidence: Array
    particles: Array
    log_weights: Array
    ancestors: Array
    effective_fraction: Array
    resampled: Array
    n_not_finite: Array
    last: Array
    last_log_weights: Array


def sequential_importance_resampling(
    draw_initial: Callable[[Array, int], Array],
    log_weight: Callable[[Array, Array], Array],
    move: Callable[[Array, Array, Array], Array],
    *,
    n_steps: int,
    n_particles: int,
    resampling: Resampling = systematic_indices,
    threshold: Array | float = 1.0,
    log_correction: Callable[[Array, Array, Array], Array] | None = None,
) -> Callable[[Array], SequentialRun]:
    """Makes a run of sequential importance resampling: weight, resample, move.

    With `log_weight` the log density of a row given parameters, and a move that leaves the posterior of the rows so
    far invariant, the evidence is that of the rows (data tempering). With the density of an observation given a
    state, and a move that draws the next state, it is a particle filter.

    Args:
        draw_initial: maps (key, number) to particles [particle, ...].
        log_weight: maps (step, particles [particle, ...]) to increments of the log weights [particle], in nats; steps
            count from 0 (int32).
        move: maps (key, step, particles [particle, ...]) to particles of the next step, after every step.
        n_steps: number of steps, at least 1.
        n_particles: at least 1.
        resampling: maps (key, log weights [particle], number) to particle numbers (int32) whose expected counts are in
            proportion to the weights: a scheme of `sampling.resampling`.
        threshold: particles are drawn again where the effective size is below this fraction of their number; 1 does so
            at every step, 0 at none. May be traced; a number spares the draws of steps that need none.
        log_correction: maps (step, particles before the move, particles after it) to the log of the transition density
            of the model over that of the proposal from which `move` draws [particle], in nats; None where it draws
            from the model.

    Returns:
        Function of a key.

    Raises:
        ValueError: n_steps or n_particles is not positive, or the threshold is outside [0, 1].

    Must hold: the expectation of the estimated evidence is the evidence at every step, for every scheme with expected
    counts in proportion to the weights, every threshold and any number of particles; a constant added to the log
    weights of a step is added to the log evidence; with one particle nothing is resampled.

    Source: MSc thesis, Eq. 3.48 for proposals, and Algorithm 7, which moves after every step; lecture slides on Monte
    Carlo methods, where resampling triggered by the weights is called stratified; Gordon, Salmond and Smith 1993.
    """
    check_integer("n_steps", n_steps, 1)
    check_integer("n_particles", n_particles, 1)
    if isinstance(threshold, int | float) and not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold must be from 0 to 1, got {threshold!r}")
    log_number = math.log(n_particles)
    own = jnp.arange(n_particles, dtype=jnp.int32)

    def choose(key: Array, log_weights: Array, fraction: Array) -> tuple[Array, Array]:
        if n_particles == 1 or (isinstance(threshold, int | float) and threshold == 0.0):
            return own, jnp.zeros((), bool)
        # A fraction of 1 up to rounding is still to be drawn again where every step is.
        wanted = (fraction < threshold) | (jnp.asarray(threshold) >= 1.0)
        drawn = lax.cond(wanted, lambda: resampling(key, log_weights, n_particles), lambda: own)
        return drawn, wanted

    def step_once(carry: tuple[Array, Array, Array], given: tuple[Array, Array]) -> tuple[Any, Any]:
        particles, before, log_evidence = carry
        key, step = given
        increments = log_weight(step, particles).astype(jnp.float64)
        bad = jnp.isnan(increments) | (increments == jnp.inf)
        log_weights = before + jnp.where(bad, -jnp.inf, increments)
        # Weights average to 1 before a step, so that their new average is the density of the step.
        log_mean = jax.nn.logsumexp(log_weights) - log_number
        log_evidence = log_evidence + log_mean
        fraction = jnp.exp(log_effective_size(log_weights) - log_number)
        ancestors, drawn = choose(jax.random.fold_in(key, 0), log_weights, fraction)
        # Where no particle has a weight the estimate is zero whatever comes: any weights will do.
        level = jnp.where(jnp.isfinite(log_mean), log_weights - log_mean, 0.0)
        after = jnp.where(drawn, jnp.zeros_like(level), level)
        parents = particles[ancestors]
        moved = move(jax.random.fold_in(key, 1), step, parents)
        if log_correction is not None:
            corrections = log_correction(step, parents, moved).astype(jnp.float64)
            bad_too = jnp.isnan(corrections) | (corrections == jnp.inf)
            after, bad = after + jnp.where(bad_too, -jnp.inf, corrections), bad | bad_too
        n_bad = jnp.sum(bad, dtype=jnp.int32)
        record = (log_evidence, particles, log_weights, ancestors, fraction, drawn, n_bad)
        return (moved, after, log_evidence), record

    def run(key: Array) -> SequentialRun:
        numbers = jnp.arange(n_steps, dtype=jnp.int32)
        keys = jax.vmap(lambda step: jax.random.fold_in(key, step + 1))(numbers)
        zero = jnp.zeros((), jnp.float64)
        begin = (draw_initial(jax.random.fold_in(key, 0), n_particles), jnp.zeros(n_particles), zero)
        end, record = lax.scan(step_once, begin, (keys, numbers))
        return SequentialRun(*(record + end[:2]))

    return run


def bootstrap_particle_filter(
    draw_initial: Callable[[Array, int], Array],
    draw_next: Callable[[Array, Array], Array],
    log_emission: Callable[[Array, Array], Array],
    observations: Array,
    n_particles: int,
    *,
    resampling: Resampling = systematic_indices,
    threshold: Array | float = 1.0,
) -> Callable[[Array], SequentialRun]:
    """Makes a particle filter that proposes states from the model itself.

    Args:
        draw_initial: maps (key, number) to first states [particle, ...].
        draw_next: maps (key, states [particle, ...]) to a successor of each.
        log_emission: maps (observation, states [particle, ...]) to log densities [particle], in nats.
        observations: [step, ...].
        n_particles: at least 1.
        resampling: as in `sequential_importance_resampling`.
        threshold: as in `sequential_importance_resampling`.

    Returns:
        Function of a key. Particles and weights of a step stand for the state given the observations so far.

    Raises:
        ValueError: as `sequential_importance_resampling`.

    Must hold: the expectation of exp(log_evidence) is the likelihood of the observations so far; means and
    variances tend to those of the Kalman filter on a linear Gaussian chain.

    Source: lecture slides on Monte Carlo methods; Gordon, Salmond and Smith 1993.
    """
    return sequential_importance_resampling(
        draw_initial,
        lambda step, states: log_emission(observations[step], states),
        lambda key, step, states: draw_next(key, states),
        n_steps=observations.shape[0],
        n_particles=n_particles,
        resampling=resampling,
        threshold=threshold,
    )


def ancestral_lines(ancestors: Array) -> Array:
    """Numbers of the particles of each step from which those of the last step descend.

    Args:
        ancestors: of a run [step, particle]; that of the last step belongs to particles that come after it.

    Returns:
        [step, particle]: entry (t, i) is the ancestor at step t of particle i at the last step, so that the last row
        counts up.

    Must hold: the number of distinct ancestors does not rise going back.

    Source: lecture slides on Monte Carlo methods, particle filtering.

    >>> ancestral_lines(jnp.array([[0, 0, 2], [1, 1, 2], [0, 1, 2]])).tolist()
    [[0, 0, 2], [1, 1, 2], [0, 1, 2]]
    """
    last = jnp.arange(ancestors.shape[1], dtype=jnp.int32)

    def back(line: Array, parents: Array) -> tuple[Array, Array]:
        line = parents[line].astype(jnp.int32)
        return line, line

    _, lines = lax.scan(back, last, ancestors[:-1], reverse=True)
    return jnp.concatenate([lines, last[None]])


def backward_draws(
    run: SequentialRun, log_transition: Callable[[Array, Array, Array], Array], n_draws: int
) -> Callable[[Array], Array]:
    """Makes draws of whole paths of states given all observations: particle smoothing by backward simulation.

    Unlike `ancestral_lines`, whose first states are those of few particles, each state is drawn among all particles of
    its step, by their weights and the density of the transition to the next state of the path.

    Args:
        run: of a particle filter.
        log_transition: maps (step, states [particle, ...], a state of the next step [...]) to log transition densities
            [particle], in nats.
        n_draws: number of paths.

    Returns:
        Function of a key, to paths [draw, step, ...]. Given the run they are independent.

    Source: lecture slides on Monte Carlo methods, smoothing; Godsill, Doucet and West 2004, "Monte Carlo smoothing for
    nonlinear time series".
    """

    def draw(key: Array) -> Array:
        numbers = jnp.arange(run.log_weights.shape[0], dtype=jnp.int32)
        keys = jax.vmap(lambda step: jax.random.fold_in(key, step))(numbers)
        last = run.particles[-1][jax.random.categorical(keys[-1], run.log_weights[-1])]

        def back(state: Array, given: tuple[Array, ...]) -> tuple[Array, Array]:
            key, step, particles, log_weights = given
            logits = log_weights + log_transition(step, particles, state)
            chosen = particles[jax.random.categorical(key, logits)]
            return chosen, chosen

        before = (keys[:-1], numbers[:-1], run.particles[:-1], run.log_weights[:-1])
        _, path = lax.scan(back, last, before, reverse=True)
        return jnp.concatenate([path, last[None]])

    return lambda key: jax.vmap(draw)(jax.random.split(key, n_draws))
