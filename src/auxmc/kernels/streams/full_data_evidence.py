"""Evidence of a finished data set by annealed importance sampling: every step goes through all rows."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import check_choice, check_integer
from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.streams.annealing_path import n_lost
from auxmc.kernels.streams.contract import Chunk, Mover, PastRows, Target
from auxmc.kernels.streams.stochastic_gradient import sghmc_step
from auxmc.models.row_model import RowModel
from auxmc.numerics.annealing import annealing_increment, log_effective_size
from auxmc.numerics.random import standard_normal
from auxmc.numerics.row_blocks import BLOCK_ROWS, row_total
from auxmc.sampling.importance import log_mean_weight

KERNELS = ("stochastic_gradient", "hamiltonian")
"""Stochastic-gradient Hamiltonian dynamics with the whole gradient and no accept step (published), or Hamiltonian
Monte Carlo."""


class AnnealedSettings(NamedTuple):
    """How particles go from the prior to the posterior.

    Attributes:
        n_particles: at least 2.
        n_moves: steps of the kernel after each change of the target.
        kernel: one of KERNELS.
        learning_rate: eta times the number of rows (stochastic-gradient kernel).
        friction: alpha, in (0, 1] (stochastic-gradient kernel).
        step_size: of the leapfrog steps, in units of 1 / sqrt(1 + power * rows) (Hamiltonian kernel).
        n_leapfrog: leapfrog steps of a move (Hamiltonian kernel).
        target_size: effective sample size that an annealing step keeps; 1 or less goes to the posterior at once.
        powers: of the likelihood, increasing to 1: a fixed schedule in place of the target size. With moves that
            leave their target invariant the estimate is then unbiased.
        max_annealing_steps: after which a run is given up as it is, and counted.
        block_rows: rows worked on at once.
    """

    n_particles: int = 10
    n_moves: int = 20
    kernel: str = "stochastic_gradient"
    learning_rate: float = 0.1
    friction: float = 0.2
    step_size: float = 0.3
    n_leapfrog: int = 5
    target_size: float = 5.0
    powers: tuple[float, ...] | None = None
    max_annealing_steps: int = 10_000
    block_rows: int = BLOCK_ROWS


class AnnealedRun(NamedTuple):
    """What a run left behind."""

    log_evidence: Array  # float64 in nats
    particles: Array  # float64 [particle, dim], after moves under the posterior
    log_weights: Array  # of these [particle]
    n_annealing_steps: Array  # changes of the target (int32)
    powers: Array  # of the likelihood after each step [max_annealing_steps], 1 from the last one on
    # Effective size of the incremental weights of each step, in particles [max_annealing_steps]; that of equal weights
    # from the last one on.
    sizes: Array
    acceptance: Array  # mean probability of accepting a move; 1 for kernels without accept step
    n_likelihood_rows: Array  # likelihoods of rows evaluated (int64)
    # Gradients of rows evaluated (int64); a likelihood that comes with one does not count apart.
    n_gradient_rows: Array
    # 1 if the path was given up before its end, because of its length or because no particle had a likelihood left,
    # else 0 (int32).
    n_unfinished: Array
    n_not_finite: Array  # particles that have been lost (int32)


def full_data_evidence(
    model: RowModel,
    settings: AnnealedSettings = AnnealedSettings(),  # noqa: B008
    mover: Mover | None = None,
) -> Callable[[Array, Array], AnnealedRun]:
    """Makes a run of annealed importance sampling over all rows.

    Args:
        model: the model of a row.
        settings: see `AnnealedSettings`.
        mover: in place of the kernel: maps (key, particles [particle, dim], Target) to moved particles, all rows
            being the target's chunk. Its work is not counted.

    Returns:
        Function of a key and of rows [row, column], in float32 or float64. Rows are worked on in their own precision;
        particles, sums over rows, powers and weights are float64.

    Raises:
        ValueError: a setting is outside its range, or there is no row.

    Source: MSc thesis, Algorithm 6 and section 5.1.2.
    """
    _check(settings)
    n_particles, n_steps = settings.n_particles, settings.max_annealing_steps
    if settings.powers is not None:
        n_steps = len(settings.powers)
    log_target = math.log(settings.target_size) if settings.target_size > 1.0 else 0.0
    total = row_total(model.log_likelihood, model.weighted_gradient, settings.block_rows)

    def run(key: Array, rows: Array) -> AnnealedRun:
        n_rows = rows.shape[0]
        move = _moves(model, settings, total, rows) if mover is None else _given_moves(mover, rows)

        def next_power(index: Array, power: Array, scores: Array) -> Array:
            if settings.powers is not None:
                return jnp.asarray(settings.powers, jnp.float64)[index]
            increment = annealing_increment(scores, 1.0 - power, log_target)
            # Assigned, not added: a power just below 1 would never end the path.
            return jnp.where(increment >= 1.0 - power, 1.0, power + increment)

        def going(loop: _Loop) -> Array:
            alive = jnp.any(jnp.isfinite(loop.log_weights))
            return (loop.power < 1.0) & (loop.n_steps < n_steps) & alive

        def advance(loop: _Loop) -> _Loop:
            index = loop.n_steps
            scores = jax.vmap(lambda particle: total(particle, rows, None))(loop.particles)
            scores = jnp.where(jnp.isfinite(scores), scores, -jnp.inf)
            power = next_power(index, loop.power, scores)
            weighted = (power - loop.power) * scores
            particles, acceptance, n_gradients = move(
                jax.random.fold_in(key, index + 1), loop.particles, power
            )
            return _Loop(
                particles,
                loop.log_weights + weighted,
                power,
                index + 1,
                loop.powers.at[index].set(power),
                loop.sizes.at[index].set(jnp.exp(log_effective_size(weighted))),
                loop.acceptance + acceptance,
                loop.n_gradients + n_gradients,
            )

        draws = jax.vmap(model.draw_prior)(jax.random.split(jax.random.fold_in(key, 0), n_particles))
        zero = jnp.zeros((), jnp.float64)
        begin = _Loop(
            draws.astype(jnp.float64),
            jnp.zeros(n_particles, jnp.float64),
            zero,
            jnp.zeros((), jnp.int32),
            jnp.ones(n_steps, jnp.float64),
            jnp.full(n_steps, n_particles, jnp.float64),
            zero,
            jnp.zeros((), jnp.int64),
        )
        end = lax.while_loop(going, advance, begin)
        return AnnealedRun(
            log_mean_weight(end.log_weights),
            end.particles,
            end.log_weights,
            end.n_steps,
            end.powers,
            end.sizes,
            end.acceptance / end.n_steps.astype(jnp.float64),
            end.n_steps.astype(jnp.int64) * (n_particles * n_rows),
            end.n_gradients * n_rows,
            (end.power < 1.0).astype(jnp.int32),
            n_lost(end.particles),
        )

    return run


class _Loop(NamedTuple):
    particles: Array
    log_weights: Array
    power: Array
    n_steps: Array
    powers: Array
    sizes: Array
    acceptance: Array
    n_gradients: Array


# Maps (key, particles, power) to moved particles, their acceptance probability, and gradients evaluated.
_Moves = Callable[[Array, Array, Array], tuple[Array, Array, Array]]


def _given_moves(mover: Mover, rows: Array) -> _Moves:
    def move(key: Array, particles: Array, power: Array) -> tuple[Array, Array, Array]:
        chunk = Chunk(rows, jnp.full((), rows.shape[0], jnp.int32))
        nothing = PastRows(rows[:1], jnp.zeros((), jnp.int32))
        moved = mover(key, particles, Target(chunk, power, nothing, jnp.zeros((), jnp.int64)))
        return moved, jnp.ones((), jnp.float64), jnp.zeros((), jnp.int64)

    return move


def _moves(
    model: RowModel,
    settings: AnnealedSettings,
    total: Callable[[Array, Array, Array | None], Array],
    rows: Array,
) -> _Moves:
    def log_density(particle: Array, power: Array) -> Array:
        return power * total(particle, rows, None) + model.log_prior(particle)

    def stochastic_gradient(key: Array, particles: Array, power: Array) -> tuple[Array, Array, Array]:
        eta = settings.learning_rate / rows.shape[0]
        noise_key, velocity_key = jax.random.split(key)
        normals = standard_normal(noise_key, (settings.n_moves, *particles.shape))
        velocity = math.sqrt(eta) * standard_normal(velocity_key, particles.shape)

        def one(state: tuple[Array, Array], normal: Array) -> tuple[tuple[Array, Array], None]:
            position, velocity = state
            slope = jax.vmap(jax.grad(log_density), (0, None))(position, power)
            return sghmc_step(position, velocity, -slope, normal, eta, settings.friction), None

        (moved, _), _ = lax.scan(one, (particles, velocity), normals)
        n_gradients = jnp.full((), settings.n_moves * particles.shape[0], jnp.int64)
        return moved, jnp.ones((), jnp.float64), n_gradients

    def hamiltonian(key: Array, particles: Array, power: Array) -> tuple[Array, Array, Array]:
        step_size = settings.step_size / jnp.sqrt(1.0 + power * rows.shape[0])
        kernel = hmc(lambda particle: log_density(particle, power), step_size, settings.n_leapfrog, model.dim)

        def chain(key: Array, particle: Array) -> tuple[Array, Array, Array]:
            keys = jax.random.split(key, settings.n_moves)
            end, info = lax.scan(
                lambda state, key: kernel.step(key, state), kernel.init(particle, key=key), keys
            )
            n_gradients = 1 + jnp.sum(info.n_gradients, dtype=jnp.int64)
            return end.position, jnp.mean(info.acceptance_rate), n_gradients

        keys = jax.random.split(key, particles.shape[0])
        moved, acceptance, n_gradients = jax.vmap(chain)(keys, particles)
        return moved, jnp.mean(acceptance), jnp.sum(n_gradients)

    return stochastic_gradient if settings.kernel == "stochastic_gradient" else hamiltonian


def _check(settings: AnnealedSettings) -> None:
    for name in ("n_moves", "n_leapfrog", "max_annealing_steps", "block_rows"):
        check_integer(name, getattr(settings, name), 1)
    check_integer("n_particles", settings.n_particles, 2)
    check_choice("kernel", settings.kernel, KERNELS)
    if not settings.learning_rate > 0.0 or not 0.0 < settings.friction <= 1.0 or not settings.step_size > 0.0:
        raise ValueError(
            "learning_rate and step_size must be positive and friction in (0, 1], got "
            f"{settings.learning_rate}, {settings.step_size} and {settings.friction}"
        )
    if settings.powers is not None:
        steps = zip((0.0, *settings.powers), settings.powers, strict=False)
        if not settings.powers or settings.powers[-1] != 1.0 or any(b <= a for a, b in steps):
            raise ValueError(f"powers must be positive and increase to 1, got {settings.powers}")
    elif settings.target_size >= settings.n_particles:
        raise ValueError(
            f"target_size must be below n_particles={settings.n_particles}, got {settings.target_size}: no step "
            "of any length keeps the weights of all particles equal"
        )
