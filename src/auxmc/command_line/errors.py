"""Messages of the commands."""

import argparse
import sys
import traceback
from pathlib import Path


def output_folder(text: str) -> Path:
    """Returns the folder that `--output` names; a blank text, which would be the working directory, is rejected."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected a folder, got {text!r}")
    return Path(text)


def error_line(error: BaseException) -> str:
    """Returns the first line of an error, after its type unless it is a ValueError of this package.

    >>> error_line(KeyError("x")), error_line(ValueError())
    ("KeyError: 'x'", 'ValueError')
    """
    said = str(error).strip().splitlines()[:1]
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = isinstance(error, ValueError) and modules[-1:] and modules[-1].startswith("auxmc.")
    return ": ".join(said if own and said else [type(error).__name__, *said])


def say(text: str) -> None:
    """Prints a line to standard error."""
    print(f"auxmc: {text}", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Prints a warning to standard error."""
    say(f"warning: {text}")
