"""Measures compile and run time apart where programs compile as they are called."""

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager

import jax.monitoring

_COMPILE_EVENTS = "/jax/core/compile/"
_compiled_s = 0.0


@dataclasses.dataclass
class Times:
    """Seconds of tracing, lowering and compiling, and of everything else, set when a `stopwatch` ends."""

    compile_s: float = 0.0
    run_s: float = 0.0


@contextmanager
def stopwatch() -> Iterator[Times]:
    """Splits the wall time of a block of code into compiling and the rest.

    Work on a device counts only if it has ended inside the block: turn results into NumPy arrays there.

    >>> with stopwatch() as times:
    ...     _ = jax.jit(lambda x: x + 1.0)(0.0).block_until_ready()
    >>> times.compile_s > 0.0 and times.run_s >= 0.0
    True
    """
    times = Times()
    start, compiled_before = time.perf_counter(), _compiled_s
    yield times
    elapsed = time.perf_counter() - start
    times.compile_s = min(_compiled_s - compiled_before, elapsed)
    times.run_s = elapsed - times.compile_s


def _listen(event: str, duration_secs: float, **about: str | int) -> None:
    global _compiled_s
    if event.startswith(_COMPILE_EVENTS):
        _compiled_s += duration_secs


jax.monitoring.register_event_duration_secs_listener(_listen)
