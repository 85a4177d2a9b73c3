"""Evaluations that may take long: what runs is said, and an interrupt ends the wait."""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import jax

__all__ = ["evaluated_in_time"]

_PATIENCE_S = 10.0


def evaluated_in_time(what: str, program: Callable[[], Any]) -> Any:
    """What a compiled program returns; after ten seconds, and when interrupted, a line says what is evaluated.

    Args:
        what: name of the evaluation, for messages.
        program: of JAX, traced already; Python is not interrupted while it runs, so it has a thread of its own, which
            does not see what context managers of JAX set.
    """
    found: list[Any] = []

    def run() -> None:
        try:
            found.append((jax.block_until_ready(program()), None))
        except BaseException as error:
            found.append((None, error))

    # A thread that does not keep Python from leaving.
    thread, begun, said = threading.Thread(target=run, daemon=True), time.monotonic(), False
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.05)
            if not said and time.monotonic() - begun > _PATIENCE_S:
                said = True
                print(f"auxmc: evaluating {what}, for {_PATIENCE_S:.0f} s so far", file=sys.stderr)
    except KeyboardInterrupt:
        seconds = time.monotonic() - begun
        print(f"auxmc: interrupted while evaluating {what}, after {seconds:.0f} s", file=sys.stderr)
        raise
    value, error = found[0]
    if error is not None:
        raise error
    return value
