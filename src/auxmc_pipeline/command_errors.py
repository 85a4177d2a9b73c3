"""Command lines of steps: their parsers, and errors that the user can fix, as one line instead of a traceback."""

import argparse
import functools
import sys
from collections.abc import Callable

from auxmc_pipeline.settings import SettingsError

_Main = Callable[[list[str] | None], int]


def step_parser(doc: str | None, *names: str) -> argparse.ArgumentParser:
    """Returns the parser, with positional arguments by name, of the module that a docstring describes.

    The docstring is "WHAT IT DOES: `COMMAND --help`. FURTHER TEXT".
    """
    what, _, command = (doc or "").partition(": `")
    program, _, further = command.partition(" --help`.")
    parser = argparse.ArgumentParser(prog=program, description=f"{what}.{further}")
    for name in names:
        parser.add_argument(name)
    return parser


def errors_in_one_line(*further: type[Exception], status: int = 1) -> Callable[[_Main], Callable[..., int]]:
    """A decorator of command lines: wrong settings, files and `further` errors are a line and end with `status`."""

    caught: tuple[type[Exception], ...] = (SettingsError, OSError, *further)

    def decorated(main: _Main) -> Callable[..., int]:
        @functools.wraps(main)
        def wrapper(arguments: list[str] | None = None) -> int:
            try:
                return main(arguments)
            except caught as error:
                print(f"error: {error}", file=sys.stderr)
                return status

        return wrapper

    return decorated
