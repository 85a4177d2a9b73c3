"""Gibbs sampling: blocks of coordinates redrawn in turn from their distribution given all others.

An update knows how to redraw a block; a scan says in which order blocks are redrawn. Any update goes with any scan.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import ArrayLike

from auxmc.kernels.base import Kernel
from auxmc.numerics.random import standard_normal

Scan = Callable[[Array], Array]
"""Maps a key to the numbers of the blocks that a step redraws, in their order [update] (int32)."""


class GibbsState(NamedTuple):
    """State of a Gibbs sampler: the current point [dim]."""

    position: Array


class GibbsInfo(NamedTuple):
    """Numbers of the blocks that were redrawn, in their order [update], and how many that were (int32)."""

    order: Array
    n_updates: Array


class GibbsNoise(NamedTuple):
    """Random numbers of a step: order of the blocks [update], and those of each update, a pytree [update, ...]."""

    order: Array
    updates: Any


class BlockUpdate(NamedTuple):
    """Redraws one block given the rest.

    Attributes:
        n_blocks: number of blocks.
        draw: maps a key to the random numbers of one update.
        redraw: maps (random numbers, number of the block, position [dim]) to the position with that block redrawn.
    """

    n_blocks: int
    draw: Callable[[Array], Any]
    redraw: Callable[[Any, Array, Array], Array]


def gibbs(update: BlockUpdate, scan: Scan) -> Kernel:
    """Gibbs sampler.

    Args:
        update: how a block is redrawn, such as `spin_blocks` or `gaussian_blocks`.
        scan: order of the updates of a step, such as `systematic_scan`.

    Returns:
        Kernel on GibbsState with GibbsInfo. Each update sees the blocks that the step has redrawn before it.

    Raises:
        ValueError: the scan names a block that there is not.

    Source: PhD thesis, Algorithm 3 and section 2.2.2. Its text has the index of a random scan drawn without
    replacement; what is reversible is a draw with replacement, or a fresh permutation of all blocks each step.
    Must hold: the target is invariant under every scan; reversible under random, permuted and palindromic ones.

    >>> update = spin_blocks(lambda s: jnp.array([s[1], s[0]]), n_units=2)
    >>> kernel = gibbs(update, systematic_scan([0, 1]))
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.ones(2)))
    >>> info.order.tolist()
    [0, 1]
    """
    order = np.asarray(scan(jax.random.key(0)))
    if order.ndim != 1 or not order.size or order.min() < 0 or order.max() >= update.n_blocks:
        raise ValueError(
            f"the scan must name blocks from 0 to {update.n_blocks - 1}, at least one, got {order.tolist()}"
        )
    n_updates = int(order.size)

    def draw(key: Array) -> GibbsNoise:
        keys = jax.random.split(jax.random.fold_in(key, 1), n_updates)
        return GibbsNoise(scan(jax.random.fold_in(key, 0)), jax.vmap(update.draw)(keys))

    def apply(noise: GibbsNoise, state: GibbsState) -> tuple[GibbsState, GibbsInfo]:
        def one(position: Array, drawn: tuple[Array, Any]) -> tuple[Array, None]:
            return update.redraw(drawn[1], drawn[0], position), None

        position, _ = lax.scan(one, state.position, (noise.order, noise.updates))
        return GibbsState(position), GibbsInfo(noise.order, jnp.full((), n_updates, jnp.int32))

    return Kernel(lambda position, key=None: GibbsState(position), draw, apply)


def systematic_scan(order: Sequence[int]) -> Scan:
    """The same order in every step.

    Reversible only if the order reads the same backwards, such as 0, 1, 2, 1, 0.
    """
    fixed = np.asarray(order, np.int32)
    return lambda key: jnp.asarray(fixed)


def random_scan(n_blocks: int, n_updates: int = 1) -> Scan:
    """`n_updates` blocks a step, each drawn uniformly with replacement; reversible."""
    return lambda key: jax.random.randint(key, (n_updates,), 0, n_blocks, jnp.int32)


def permuted_scan(n_blocks: int) -> Scan:
    """All blocks once a step, in an order drawn afresh; reversible."""
    return lambda key: jax.random.permutation(key, n_blocks).astype(jnp.int32)


def spin_blocks(
    log_odds: Callable[[Array], Array], n_units: int, blocks: Sequence[Sequence[int]] | None = None
) -> BlockUpdate:
    """Updates of spins -1 and +1.

    Args:
        log_odds: maps spins [unit] to log P(s_i = +1 | others) - log P(s_i = -1 | others) of every unit [unit], in
            nats. Element i must not depend on s_i; in a Boltzmann machine it is 2 (W s + b)_i.
        n_units: number of spins.
        blocks: units that are redrawn together; None redraws one at a time. Units of a block must be independent
            given those outside it, such as a layer of a restricted Boltzmann machine: for others the distribution is
            not kept.

    Returns:
        BlockUpdate with uniform numbers [unit]: unit i becomes +1 where its number is below P(s_i = +1 | others).
        With the same numbers and log odds that rise with every spin, ordered states stay ordered.

    Raises:
        ValueError: n_units is not positive, or a block names a unit that there is not.

    Source: PhD thesis, Eq. 1.45 and section 2.2.2.
    Must hold: exact transition matrices leave the distribution invariant.
    """
    masks = jnp.asarray(_masks(n_units, blocks))

    def redraw(uniform: Array, block: Array, position: Array) -> Array:
        up = uniform < jax.nn.sigmoid(log_odds(position))
        spins = jnp.where(up, 1.0, -1.0).astype(position.dtype)
        return jnp.where(masks[block], spins, position)

    return BlockUpdate(len(masks), lambda key: jax.random.uniform(key, (n_units,)), redraw)


def gaussian_blocks(
    mean: ArrayLike, covariance: ArrayLike, blocks: Sequence[Sequence[int]] | None = None
) -> BlockUpdate:
    """Updates of the coordinates of a Gaussian vector.

    A block b is redrawn from N(m_b - P_bb^-1 P_bc (x_c - m_c), P_bb^-1), P being the precision and c the others.

    Args:
        mean: m [dim].
        covariance: positive definite [dim, dim].
        blocks: coordinates that are redrawn together; None redraws one at a time.

    Returns:
        BlockUpdate with standard normal numbers [dim]; an update uses those of its block.

    Raises:
        ValueError: shapes do not fit, the covariance is not positive definite, or a block names a coordinate that
            there is not.

    Source: PhD thesis, section 2.2.2 and figure 2.9.
    Must hold: one block of all coordinates gives independent draws.
    """
    centre, matrix = np.asarray(mean, float), np.asarray(covariance, float)
    if centre.ndim != 1 or matrix.shape != (centre.size, centre.size):
        raise ValueError(
            f"mean and covariance must have shapes [dim] and [dim, dim], got {centre.shape} and {matrix.shape}"
        )
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"covariance must be positive definite, got {matrix.tolist()}") from error
    masks = _masks(centre.size, blocks)
    precision = np.linalg.inv(matrix)
    pulls, spreads = np.zeros((2, len(masks), centre.size, centre.size))
    for pull, spread, mask in zip(pulls, spreads, masks, strict=True):
        inside = np.ix_(mask, mask)
        conditional = np.linalg.inv(precision[inside])
        pull[np.ix_(mask, ~mask)] = -conditional @ precision[np.ix_(mask, ~mask)]
        spread[inside] = np.linalg.cholesky(conditional)
    pulls_, spreads_, centre_, masks_ = (jnp.asarray(values) for values in (pulls, spreads, centre, masks))

    def redraw(normal: Array, block: Array, position: Array) -> Array:
        redrawn = centre_ + pulls_[block] @ (position - centre_) + spreads_[block] @ normal
        return jnp.where(masks_[block], redrawn, position)

    return BlockUpdate(len(masks), lambda key: standard_normal(key, (centre.size,)), redraw)


def _masks(dim: int, blocks: Sequence[Sequence[int]] | None) -> np.ndarray:
    if dim < 1:
        raise ValueError(f"there must be at least one coordinate, got {dim}")
    chosen = [[i] for i in range(dim)] if blocks is None else [list(block) for block in blocks]
    if not chosen or not all(chosen):
        raise ValueError(f"blocks must name at least one coordinate each, got {blocks!r}")
    outside = sorted({i for block in chosen for i in block if not 0 <= i < dim})
    if outside:
        raise ValueError(f"blocks must name coordinates from 0 to {dim - 1}, got {outside[0]}")
    masks = np.zeros((len(chosen), dim), bool)
    for mask, block in zip(masks, chosen, strict=True):
        mask[block] = True
    return masks
