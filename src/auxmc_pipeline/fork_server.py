"""Runs commands in forks of one process that has imported the packages, which take most of a command's start.

`python -m auxmc_pipeline.fork_server MODULE [ARGUMENT ...]` is `python -m MODULE [ARGUMENT ...]`, in a fork of the
server that `fork_server` has started, or in this process if there is none.
"""

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

ADDRESS = "AUXMC_FORK_SERVER"  # environment variable with the path of the server's socket

_SERVE = "--serve"

# Without modules of the project: commands read their present code.
_PACKAGES = ["h5netcdf", "hydra", "jax.scipy.linalg", "jinja2", "matplotlib.backends.backend_agg"]
_PACKAGES += ["matplotlib.backends.backend_svg", "pyarrow.parquet", "scipy.integrate", "scipy.interpolate"]
_PACKAGES += ["scipy.stats", "seaborn", "xarray"]


@contextlib.contextmanager
def fork_server() -> Iterator[dict[str, str]]:
    """Starts a server, and yields the environment in which commands use it.

    It ends with the block, or with this process. There is none where a fork of imported packages would not be safe: on
    other systems than Linux, and with an accelerator, whose driver a case may exclude only before JAX is imported.
    """
    if sys.platform != "linux" or importlib.util.find_spec("jax_plugins") is not None:
        yield dict(os.environ)
        return
    # Not in the working directory: paths of sockets have at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="auxmc-") as folder:
        # Listens from now on, so that a command that is faster than the server waits for it.
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/socket")
            listener.listen(128)
            listener.set_inheritable(True)
            command = [sys.executable, "-m", "auxmc_pipeline.fork_server", _SERVE, str(listener.fileno())]
            # Inherits the locks of this process, as jobs do.
            server = subprocess.Popen(command, stdin=subprocess.PIPE, close_fds=False)
        with server:
            try:
                yield {**os.environ, ADDRESS: f"{folder}/socket"}
            finally:
                assert server.stdin is not None
                server.stdin.close()


def main(words: list[str]) -> int:
    """Command line; returns the exit status of the command."""
    if words[0] == _SERVE:
        return _serve(int(words[1]))
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(os.environ[ADDRESS])
        except (KeyError, OSError):
            return _run(words)
        # An interrupt from the keyboard reaches the fork too, which ends in its own way.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        request = {"words": words, "folder": str(Path.cwd()), "environment": dict(os.environ)}
        content = json.dumps(request).encode()
        socket.send_fds(connection, [len(content).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(content)
        status = connection.recv(1)
    # Without a status the fork was killed.
    return status[0] if status else 1


def _serve(number: int) -> int:
    """Forks for every connection to the socket with this file number, until standard input is closed."""
    with socket.socket(fileno=number) as listener:
        listener.set_inheritable(False)
        interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        from auxmc.driver.runtime import limit_threads

        limit_threads()
        for name in _PACKAGES:
            importlib.import_module(name)
        gc.freeze()
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGINT, interrupted)
                return _answer(connection)
            connection.close()
    return 0


def _answer(connection: socket.socket) -> int:
    """Runs the command of a connection, and returns its exit status, also to the client."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as file:
        request = json.loads(file.read(int.from_bytes(size, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    ended = threading.Event()

    def watch() -> None:
        # A client that was killed takes its command with it.
        if not connection.recv(1) and not ended.is_set():
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    try:
        status = _run(request["words"])
    finally:
        ended.set()
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([status]))
    return status


def _run(words: list[str]) -> int:
    """Runs a module as a script, in this process; returns its exit status."""
    sys.argv = words
    try:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return int(end.code or 0) % 256
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
