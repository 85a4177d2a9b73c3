"""Signals that end a command: the first one in order, a second one at once."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# Until an interrupt that was lost is raised again elsewhere.
_AGAIN_S = 0.02
# Until a signal that the main thread has not taken is answered by another thread.
_ANSWER_S = 0.2


@contextmanager
def abort_on_second_interrupt() -> Iterator[None]:
    """Ends the process at the second Ctrl-C, with a message; the first one raises KeyboardInterrupt.

    A loop in the user's model or in a compiled program may never return to the interpreter: another thread answers
    then. An exception in a callback of another package is lost there; it is raised again without a traceback. After
    a first Ctrl-C the handlers stay beyond the block, so that a second one while Python ends shows no traceback.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    was_asked, taken_s = False, -math.inf
    show_lost = sys.unraisablehook

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal was_asked, taken_s
        if was_asked:
            end_at_once()
        was_asked, taken_s = True, time.monotonic()
        signal.default_int_handler(number, frame)

    def end_at_once() -> None:
        os.write(2, b"stopped at once; what is finished is kept\n")
        os._exit(130)

    def answer() -> None:
        """Waits for signals, and answers those that the main thread does not take."""
        was_told = False
        while number := os.read(signals, 1):
            came_s = time.monotonic()
            if number[0] != signal.SIGINT or signal.getsignal(signal.SIGINT) is not interrupt:
                continue
            time.sleep(_ANSWER_S)
            if taken_s > came_s - _ANSWER_S:
                continue
            if was_asked or was_told:
                end_at_once()
            was_told = True
            os.write(2, b"stops after the present computation; Ctrl-C again stops at once\n")
        os.close(signals)

    def lost(what: "sys.UnraisableHookArgs") -> None:
        nonlocal was_asked
        if not issubclass(what.exc_type, KeyboardInterrupt):
            show_lost(what)
            return
        was_asked = False
        # Later and from elsewhere: at once it would fall into this function.
        main = threading.main_thread().ident
        again = threading.Timer(_AGAIN_S, signal.pthread_kill, [main, signal.SIGINT])
        again.daemon = True
        again.start()

    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = lost
    signals, sent = os.pipe()
    os.set_blocking(sent, False)
    before = signal.set_wakeup_fd(sent, warn_on_full_buffer=False)
    threading.Thread(target=answer, daemon=True).start()
    try:
        yield
    finally:
        if not was_asked:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = show_lost
            signal.set_wakeup_fd(before)
            os.close(sent)


@contextmanager
def answering(answer: Callable[[int], None], *numbers: int) -> Iterator[None]:
    """Calls a function at the first of some signals; a second one acts as before. Threads are told of none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def first(number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, before[number])
        answer(number)

    before = {number: signal.signal(number, first) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
