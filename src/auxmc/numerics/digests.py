"""What a traced program depends on: its text, all of its constants, and calls of code that it does not hold."""

import hashlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

# What a program computes by code outside of it. `jax.debug.print` changes no number.
_HOST = ("pure_callback", "io_callback", "ffi_call")


def program_digest(*programs: Any) -> str:
    """SHA-256 of programs with all numbers that they hold, wherever these came from.

    Args:
        programs: of `jax.jit(function).trace(...)`.
    """
    found = hashlib.sha256()
    for program in programs:
        found.update(program.lower().as_text().encode())
        # JAX may pass constants to a program, whose text does not show them then.
        for part in _parts(program.jaxpr):
            if not isinstance(part, str):
                found.update(np.asarray(part).tobytes())
    return found.hexdigest()


def host_calls(program: Any) -> list[str]:
    """Names of the calls by which a program leaves itself for code of the host, such as "pure_callback".

    Args:
        program: of `jax.jit(function).trace(...)`.
    """
    return sorted({part for part in _parts(program.jaxpr) if isinstance(part, str) and part in _HOST})


def _parts(jaxpr: Any) -> Iterator[Any]:
    """Names of operations, and arrays, of a program and of all within it."""
    yield from (value for value in getattr(jaxpr, "consts", ()) if _is_array(value))
    for step in jaxpr.eqns:
        yield step.primitive.name
        yield from (one.val for one in step.invars if _is_array(getattr(one, "val", None)))
        for inner in jax.tree.leaves(list(step.params.values()), is_leaf=_is_program):
            if _is_program(inner):
                yield from _parts(inner)


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns")


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray) and not jax.dtypes.issubdtype(
        value.dtype, jax.dtypes.extended
    )
