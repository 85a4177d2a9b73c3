"""What the interpreter says that it runs."""

import contextlib
import platform
import sys
from collections.abc import Iterator
from typing import Any

_RUNS = {"pickle.find_class", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect"}
_seen: list[str] | None = None
platform.processor()  # some libraries ask for it when they are imported; the first answer is that of a process


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is not None and event in _RUNS:
        _seen.append(f"{event} {arguments!r}")


sys.addaudithook(_hook)  # which cannot be taken away


@contextlib.contextmanager
def nothing_runs() -> Iterator[None]:
    """Asserts that no object is unpickled, no process started and no connection made."""
    global _seen
    _seen = []
    try:
        yield
        assert _seen == []
    finally:
        _seen = None
