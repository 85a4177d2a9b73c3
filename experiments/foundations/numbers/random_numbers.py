"""Topic: pseudo-random integers and the uniform floats made of them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from jax.typing import DTypeLike
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import IntegerArray
from experiments.foundations.numbers.congruential import (
    bit_rows,
    congruential_states,
    has_full_period,
    smallest_period,
)
from experiments.foundations.sampling.transforms import box_muller
from experiments.foundations.sampling.uniforms import avoiding_zero, uniform_from_bits
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

# PhD thesis, figure 2.1.
_MULTIPLIER, _INCREMENT, _MODULUS, _SEED, _N_BITS = 37, 61, 128, 37, 7


def _states(n: int) -> IntegerArray:
    return congruential_states(_MULTIPLIER, _INCREMENT, _MODULUS, _SEED, n)


@TOPIC.claim("FN-RNG-01")
def visits(work: Work) -> Lines:
    """States that the generator visits, and the first ones."""
    states = _states(_MODULUS)
    return {"distinct states": np.unique(states).size} | {f"state {i + 1}": states[i] for i in range(8)}


@TOPIC.claim("FN-RNG-02")
def bit_periods(work: Work) -> Lines:
    """Two turns of the generator, since a period of one turn shows in no less."""
    rows = bit_rows(_states(2 * _MODULUS), _N_BITS)
    return {f"bit {j}": smallest_period(row) for j, row in enumerate(rows)}


@TOPIC.claim("FN-RNG-03")
def full_periods(work: Work) -> Lines:
    """All generators with this modulus, side by side."""
    multipliers, increments = np.arange(1, _MODULUS), np.arange(_MODULUS)
    states = congruential_states(multipliers[:, None], increments[None, :], _MODULUS, 0, _MODULUS)
    counted = np.all(np.sort(states, axis=0) == np.arange(_MODULUS)[:, None, None], axis=0)
    predicted = np.array(
        [[has_full_period(int(a), int(c), _MODULUS) for c in increments] for a in multipliers]
    )
    return {
        "full period pairs": counted.sum(),
        "pairs of which the theorem says otherwise": np.sum(counted != predicted),
    }


@TOPIC.claim("FN-RNG-04")
def extreme_bits(work: Work) -> Lines:
    """Patterns next to none, to all and to each power of two."""
    found: dict[str, ArrayLike] = {}
    for dtype, width in ((jnp.float32, 32), (jnp.float64, 64)):
        patterns = sorted(
            {p for k in range(width) for p in (0, 2**k - 1, 2**k, 2**width - 2**k, 2**width - 1 - 2**k)}
        )
        above, guarded, bare = _failures(np.array(patterns, f"uint{width}"), dtype)
        found |= {
            f"{width} bits: numbers of one or more": above,
            f"{width} bits: normal numbers that are not finite": guarded,
            f"{width} bits: the same with log u in place of log(1 - u)": bare,
        }
    return found


@partial(jax.jit, static_argnames="dtype")
def _failures(patterns: Array, dtype: DTypeLike) -> tuple[Array, Array, Array]:
    """Numbers of floats that are not below 1, and of pairs without finite normal numbers, with 1 - u and with u."""
    uniforms = uniform_from_bits(patterns, dtype)
    pairs = jnp.stack(jnp.meshgrid(uniforms, uniforms, indexing="ij"), axis=-1)
    guarded = jnp.stack([avoiding_zero(pairs[..., 0]), pairs[..., 1]], axis=-1)
    return (
        jnp.sum(uniforms >= 1.0),
        jnp.sum(~jnp.isfinite(box_muller(guarded))),
        jnp.sum(~jnp.isfinite(box_muller(pairs))),
    )


@TOPIC.figure("fig_2_1")
def bit_raster(work: Work) -> Arrays:
    """Figure 2.1."""
    bits = bit_rows(_states(_MODULUS), _N_BITS)
    along = {"fig_2_1_bit": np.arange(_N_BITS), "fig_2_1_state": np.arange(_MODULUS)}
    return {"fig_2_1_bits": xr.DataArray(bits.astype(float), along)}
