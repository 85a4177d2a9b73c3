"""Random streams by name: adding a study, a case or a chain changes no other stream."""

import hashlib

import jax
import numpy as np
from jax import Array


def stream(seed: int, *names: str | int) -> Array:
    """Typed JAX key of the stream with the given names, from general to particular, under one root seed.

    Every different path of names (study, case, purpose, chain) gives an unrelated stream.
    """
    key = jax.random.key(seed)
    for word in _digest(names):
        key = jax.random.fold_in(key, word)
    return key


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """NumPy generator of the stream with the given names under one root seed (see `stream`)."""
    return np.random.default_rng([seed, *(int(word) for word in _digest(names))])


def generator_of(key: Array) -> np.random.Generator:
    """NumPy generator of a typed JAX key, scalar."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)))


def _digest(names: tuple[str | int, ...]) -> np.ndarray:
    # The type and a separator enter the digest, so that ("ab", "c"), ("a", "bc") and (1,), ("1",) differ.
    text = "\x1f".join(f"{type(name).__name__}:{name}" for name in names)
    return np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype=np.uint32)
