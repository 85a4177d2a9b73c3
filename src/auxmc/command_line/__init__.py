"""The command `auxmc`. Packages add subcommands by entry points of the group `auxmc.commands`."""

import argparse
import contextlib
import gc
import importlib.metadata
import os
import sys
from collections.abc import Sequence

from auxmc.command_line.errors import say
from auxmc.command_line.interrupts import abort_on_second_interrupt
from auxmc.errors import AuxmcError, CommandError

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a subcommand, given the words after `auxmc`; those of the process by default.

    Returns the exit status: 0 if all went well, 1 or 2 after an error that has been printed, 130 after Ctrl-C.
    """
    if arguments is None:
        # What is imported and traced stays: to look through it again and again takes a tenth of the time of a run.
        gc.set_threshold(50_000)
    parser = argparse.ArgumentParser(
        prog="auxmc",
        description="Auxiliary-variable Monte Carlo and evidence estimation.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"auxmc {importlib.metadata.version('auxmc')}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in sorted(importlib.metadata.entry_points(group="auxmc.commands")):
        command.load()(subparsers)
    status = _run(parser.parse_args(arguments))
    if status == _INTERRUPTED and arguments is None:
        # Python would end beneath programs of JAX that still run on threads.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(status)
    return status


def _run(options: argparse.Namespace) -> int:
    try:
        with abort_on_second_interrupt():
            return int(options.run(options))
    except AuxmcError as error:
        say(f"error: {error}")
        return error.code if isinstance(error, CommandError) else 2
    except ModuleNotFoundError as error:
        # The dependencies of the core are installed; a user's model names itself what it lacks.
        if not options.run.__module__.startswith("auxmc_pipeline."):
            raise
        say(f"error: this command needs {error.name}: run `make setup` in a clone of the repository")
        return 1
    except BrokenPipeError:
        # Nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # A full disk, or a folder that may not be written to: files are complete or absent.
        resume = "; what is finished is kept, and the same command resumes there once this is fixed"
        say(f"error: {error}{resume if error.errno else ''}")
        return 1
    except MemoryError:
        say("error: there is not enough memory; what is finished is kept")
        return 1
    except KeyboardInterrupt:
        say("stopped")
        return _INTERRUPTED
