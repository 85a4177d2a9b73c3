"""Runs of `auxmc sample` and `auxmc evidence`."""

import argparse
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr

import auxmc
from auxmc.command_line.errors import error_line, say, warn
from auxmc.command_line.interrupts import answering
from auxmc.command_line.own_models.commands import METHODS
from auxmc.command_line.own_models.model_file import OwnModel, read_model, read_settings
from auxmc.command_line.own_models.output import OutputFolder, summary_table
from auxmc.command_line.run_folder import alone_in
from auxmc.errors import CommandError, SamplingWarning
from auxmc.interface.methods import Method
from auxmc.models.user_model import importing_from

_COUNTS = ("draws", "warm_up", "chains", "seed")


def run(options: argparse.Namespace) -> int:
    """Runs a subcommand and returns its exit status: 0, or 130 after Ctrl-C."""
    if options.output == Path():
        raise CommandError("--output: expected a folder, got an empty name or the working directory")
    own = read_model(options.model, options.data)
    path = options.output or Path(f"{options.model.stem}-{options.command}")
    numbers = {name: getattr(options, name) for name in (*_COUNTS, "command", "method")}
    numbers |= {"settings": sorted(options.settings), "model_and_data": own.digest}
    work: Callable[..., Any] = _sample if options.command == "sample" else _evidence
    # Functions of the file may import from its folder whenever they run.
    with importing_from(options.model.parent), _delete_if_empty(path), alone_in(path):
        folder = OutputFolder(path, numbers, restart=options.restart)
        try:
            with answering(_stop, signal.SIGTERM):
                work(own, options, folder)
        except KeyboardInterrupt:
            say(f"stopped; the same command resumes from {folder.path}")
            return 130
        except CommandError:
            folder.forget()
            raise
    say(f"{'draws, summary and plots' if options.plots else 'draws and summary'} are in {folder.path}")
    return 0


@contextmanager
def _delete_if_empty(path: Path) -> Iterator[None]:
    """Deletes a new folder that is empty at the end, as after an error."""
    is_new = not path.exists()
    try:
        yield
    finally:
        if is_new and path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def _sample(own: OwnModel, options: argparse.Namespace, folder: OutputFolder) -> None:
    name = options.method or METHODS[own.kind][0]
    if name not in METHODS[own.kind]:
        allowed = f"one of {', '.join(METHODS[own.kind])} for a {own.kind}"
        raise CommandError(f"--method: expected {allowed}, got {name}")
    make = getattr(auxmc, name)
    settings = read_settings(options.settings, make)
    with _as_command_errors(options.model):
        model = _model(own, options.checks)
        method: Method = make(model, **settings)
        folder.begin()
        tree = auxmc.sample(method, checkpoint=folder.state, **_counts(options))
    folder.write_tree("result.nc", tree)
    _finish(tree, folder, options.plots)


def _evidence(own: OwnModel, options: argparse.Namespace, folder: OutputFolder) -> None:
    if own.kind != "density":
        raise CommandError(f"{options.model}: expected a density (log_density and start), got a {own.kind}")
    taken = (*_COUNTS, "method", "cores", "executor", "checkpoint", "progress", "checks")
    settings = read_settings(options.settings, auxmc.evidence, taken)
    with _as_command_errors(options.model):
        folder.begin()
        model, settings = _model(own, options.checks), settings | _counts(options)
        found = auxmc.evidence(model, method=options.method, checkpoint=folder.state, **settings)
    folder.write_tree("result.nc", found.posterior)
    folder.write_tree("chains.nc", found.chains)
    _finish(found.posterior, folder, options.plots, found.chains)
    print(f"\n{found}")


def _counts(options: argparse.Namespace) -> dict[str, Any]:
    names = (*_COUNTS, "cores", "checks")
    return {name: getattr(options, name) for name in names} | {"progress": not options.quiet}


def _model(own: OwnModel, checks: str) -> Any:
    parts = own.parts | {"checks": checks}
    if own.kind == "simulator":
        return auxmc.simulator(parts.pop("generate"), parts.pop("observed"), parts.pop("inputs"), **parts)
    return auxmc.estimated(**parts) if own.kind == "estimate" else auxmc.density(**parts)


def _finish(
    tree: xr.DataTree, folder: OutputFolder, formats: Sequence[str], chains: xr.DataTree | None = None
) -> None:
    posterior = tree["posterior"].to_dataset()
    table, text = summary_table(posterior)
    folder.write_table("summary", table, parquet=False)
    print(text)
    if formats:
        # Importing Matplotlib takes as long as a small run.
        from auxmc.command_line.own_models import plots

        plots.draw_posterior(posterior, folder.path, formats)
        if chains is not None:
            plots.draw_evidence(chains, folder.path / "evidence", formats)


@contextmanager
def _as_command_errors(path: Path) -> Iterator[None]:
    """Raises errors of the library as CommandError, and prints its warnings in one line each."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SamplingWarning)
            yield
    except (OSError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        # Functions of the user's file are called all along, and may fail in any way.
        raise CommandError(f"{path}: {error_line(error)}") from error
    finally:
        for one in caught:
            if issubclass(one.category, SamplingWarning):
                warn(str(one.message))
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _stop(number: int) -> None:
    raise KeyboardInterrupt(number)
