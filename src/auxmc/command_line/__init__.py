"""The command `auxmc`. Packages add subcommands by entry points of the group `auxmc.commands`."""

import argparse
import importlib.metadata
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from auxmc.errors import CommandError

__all__ = ["main", "second_interrupt_ends_it"]

# Until an interrupt that was lost comes again, elsewhere.
_AGAIN_S = 0.02
# Until a signal that the main thread has not taken is answered elsewhere.
_ANSWER_S = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a subcommand.

    Args:
        arguments: words of the command line after `auxmc`; those of the process by default.

    Returns:
        Exit status: 0 if all went well, 1 or 2 after an error that has been printed, 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(
        prog="auxmc",
        description="Auxiliary-variable Monte Carlo and evidence estimation.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"auxmc {importlib.metadata.version('auxmc')}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in sorted(importlib.metadata.entry_points(group="auxmc.commands")):
        command.load()(subparsers)
    options = parser.parse_args(arguments)
    try:
        with second_interrupt_ends_it():
            return int(options.run(options))
    except CommandError as error:
        print(f"auxmc: error: {error}", file=sys.stderr)
        return error.code
    except ModuleNotFoundError as error:
        # What comes with the package's core is there; the user's own model says itself what it lacks.
        if not options.run.__module__.startswith("auxmc_pipeline."):
            raise
        print(
            f"auxmc: error: this command belongs to the studies, which need {error.name}: in a clone of the "
            "repository, `make setup` installs it",
            file=sys.stderr,
        )
        return 1
    except BrokenPipeError:
        # Whoever read the output has gone; nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # A full disk, a folder that may not be written to: files are complete or absent, and the same command goes on.
        go_on = "; what is finished is kept, and the same command goes on from there once this is mended"
        print(f"auxmc: error: {error}{go_on if error.errno else ''}", file=sys.stderr)
        return 1
    except MemoryError:
        print("auxmc: error: there is not enough memory; what is finished is kept", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("auxmc: stopped", file=sys.stderr)
        return 130


@contextmanager
def second_interrupt_ends_it() -> Iterator[None]:
    """The first Ctrl-C is an exception as ever; a second one ends the process at once, with a line.

    An exception that falls into a callback of another package is lost there, and Python shows a traceback: it comes
    again in place of that. A loop of the user's model, or of a compiled program, may never come back to take it: hence
    the second one. Files are complete or absent at any moment. After a first Ctrl-C this outlives the block: what is
    left to do then is to end, where another one would show a traceback. While the main thread is in a compiled program,
    another thread answers.
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
    signals, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    threading.Thread(target=answer, daemon=True).start()
    try:
        yield
    finally:
        if not was_asked:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = show_lost
            signal.set_wakeup_fd(before)
            os.close(told)
