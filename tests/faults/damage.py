"""Bytes that are not what was written: cut short, emptied, flipped, overwritten, lengthened."""

import numpy as np

__all__ = ["damaged_bytes"]


def damaged_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    """Content with one kind of damage at a random place."""
    if not content:
        return bytes(rng.integers(0, 256, 20, np.uint8))
    place, kind = int(rng.integers(len(content))), int(rng.integers(7))
    if kind == 0:
        return content[:place]
    if kind == 1:
        return b""
    if kind in (2, 3):
        changed = bytearray(content)
        for one in rng.integers(len(content), size=1 if kind == 2 else 8):
            changed[one] ^= 1 << int(rng.integers(8))
        return bytes(changed)
    if kind == 4:
        # As a file system leaves blocks that were allocated and never written.
        return content[:place] + bytes(min(4096, len(content) - place)) + content[place + 4096 :]
    if kind == 5:
        return content + bytes(rng.integers(0, 256, int(rng.integers(1, 100)), np.uint8))
    return content[:place] + bytes(rng.integers(0, 256, len(content) - place, np.uint8))
