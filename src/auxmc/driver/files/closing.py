"""What HDF5 says when it lets go of a file that could not be written."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

__all__ = ["second_errors_in_one_line"]


@contextmanager
def second_errors_in_one_line() -> Iterator[None]:
    """Prints an error that HDF5 meets while it lets go of a file as one line, where Python prints a traceback.

    On a full disk it tries to write once more what it could not write before. The first attempt has raised its error,
    and the file never got its name.
    """
    excepthook, unraisablehook = sys.excepthook, sys.unraisablehook

    def printed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        # Cython prints what an object raises while it is let go, before it calls the other hook.
        frames = traceback.extract_tb(trace)
        if not (isinstance(error, OSError) and frames and frames[-1].filename.startswith("h5py")):
            excepthook(kind, error, trace)

    def ignored(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, OSError) and "h5py" in str(unraisable.object):
            reason = str(unraisable.exc_value).partition("\n")[0]
            print(f"the unfinished file could not be closed either: {reason}", file=sys.stderr)
        else:
            unraisablehook(unraisable)

    sys.excepthook, sys.unraisablehook = printed, ignored
    try:
        yield
    finally:
        sys.excepthook, sys.unraisablehook = excepthook, unraisablehook
