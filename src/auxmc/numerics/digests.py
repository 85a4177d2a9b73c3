"""What a traced program depends on: its text, all of its constants, and calls of code that it does not hold."""

import hashlib
from typing import Any

import jax
import numpy as np

from auxmc.numerics.programs import programs_within

# What a program computes by code outside of it. `jax.debug.print` changes no number.
_HOST = ("pure_callback", "io_callback", "ffi_call")


def program_digest(*programs: Any) -> str:
    """SHA-256 of traced programs (`jax.jit(f).trace(...)`) with all numbers that they hold."""
    found = hashlib.sha256()
    for program in programs:
        found.update(program.lower().as_text().encode())
        # JAX may pass constants to a program, whose text does not show them then.
        for _, held in programs_within(program.jaxpr):
            for value in held:
                is_array = isinstance(value, jax.Array | np.ndarray)
                if is_array and not jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
                    found.update(np.asarray(value).tobytes())
    return found.hexdigest()


def host_calls(program: Any) -> list[str]:
    """Names of the calls, such as "pure_callback", by which a traced program leaves itself for the host."""
    called = {step.primitive.name for inner, _ in programs_within(program.jaxpr) for step in inner.eqns}
    return sorted(called.intersection(_HOST))
