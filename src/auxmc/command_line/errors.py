"""What a command says when it cannot go on."""

import argparse
import traceback
from pathlib import Path

__all__ = ["error_line", "output_folder"]


def output_folder(text: str) -> Path:
    """The folder that `--output` names.

    Raises:
        ArgumentTypeError: If the text is blank, which as a path would be the working directory.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected a folder, got {text!r}")
    return Path(text)


def error_line(error: BaseException) -> str:
    """What an error says, in a line; its kind stands first, unless this package refused a value in words of its own.

    >>> error_line(KeyError("x")), error_line(ValueError())
    ("KeyError: 'x'", 'ValueError')
    """
    said = str(error).strip().splitlines()[:1]
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    refused = isinstance(error, ValueError) and modules[-1:] and modules[-1].startswith("auxmc.")
    return ": ".join(said if refused and said else [type(error).__name__, *said])
