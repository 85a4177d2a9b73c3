"""Topic: pseudo-random integers and the uniform floats made of them."""

import jax.numpy as jnp
import numpy as np
import xarray as xr

from auxmc.numerics.array_types import IntegerArray
from experiments.foundations.numbers.congruential import (
    bit_rows,
    congruential_states,
    smallest_period,
)
from experiments.foundations.sampling.uniforms import uniform_from_bits
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


@TOPIC.claim("FN-RNG-04")
def extreme_bits(work: Work) -> Lines:
    """Patterns next to none, to all and to each power of two."""
    found = {}
    for dtype, width in ((jnp.float32, 32), (jnp.float64, 64)):
        patterns = sorted(
            {p for k in range(width) for p in (0, 2**k - 1, 2**k, 2**width - 2**k, 2**width - 1 - 2**k)}
        )
        uniforms = uniform_from_bits(jnp.asarray(np.array(patterns, f"uint{width}")), dtype)
        found[f"{width} bits: numbers of one or more"] = jnp.sum(uniforms >= 1.0)
    return found


@TOPIC.figure("fig_2_1")
def bit_raster(work: Work) -> Arrays:
    """Figure 2.1."""
    bits = bit_rows(_states(_MODULUS), _N_BITS)
    along = {"fig_2_1_bit": np.arange(_N_BITS), "fig_2_1_state": np.arange(_MODULUS)}
    return {"fig_2_1_bits": xr.DataArray(bits.astype(float), along)}
