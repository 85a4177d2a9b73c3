"""A run of `auxmc stream`: shown while it runs, stopped in good order, and kept."""

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType

import jax
import numpy as np
import pandas as pd

from auxmc.command_line.run_folder import alone_in
from auxmc.command_line.stream_display import ModelStatus, Status, describe_change, make_display
from auxmc.command_line.stream_folder import StreamFolder
from auxmc.command_line.stream_reading import read_checked
from auxmc.command_line.stream_record import Standing, record_table, standings
from auxmc.command_line.stream_setup import StreamSetup, make_estimators, prepare
from auxmc.data.row_store import RowStore
from auxmc.diagnostics.change_points import DropDetector, chunk_scores
from auxmc.driver.stream_program import fetch_from
from auxmc.driver.streams import StreamRun, run_streams
from auxmc.errors import CommandError, DataError
from auxmc.models.user_model import importing_from
from auxmc.numerics.array_types import NamedArrays

__all__ = ["run_session"]

# Exit status of a program that a signal ended, less the signal's number.
_SIGNALLED = 128


def run_session(options: argparse.Namespace) -> int:
    """Runs the subcommand; JAX must have been configured.

    Returns:
        Exit status: 0, or 128 and the number of the signal that stopped the run.

    Raises:
        CommandError: an option, the data or a model cannot be used, or all particles of a model were lost.
    """
    files = [Path(text[: text.index(".py") + 3]) for text in options.model if ".py" in text]
    folders = {file.resolve().parent for file in files}
    try:
        # Of several folders, each could have a module of the same name.
        with importing_from(folders.pop()) if len(folders) == 1 else nullcontext():
            return _run_session(options)
    except (CommandError, OSError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        # Functions of the user's files are called all along, and may fail in any way, `exit()` included.
        own = [text for text in options.model if ".py" in text]
        if not own:
            raise
        words = " ".join(str(error).split())
        raise CommandError(
            f"--model {', '.join(own)}: fails: {type(error).__name__}: {words[:300]}", 1
        ) from error


def _run_session(options: argparse.Namespace) -> int:
    setup = prepare(options, lambda text: print(f"auxmc: warning: {text}", file=sys.stderr))
    if options.output is None:
        with tempfile.TemporaryDirectory() as temporary:
            return _Session(setup, None, options).run(Path(temporary) / "rows.bin")
    with alone_in(options.output):
        folder = StreamFolder(options.output, setup.numbers, restart=options.restart)
        folder.begin({"data": str(options.data), "output": str(options.output)})
        return _Session(setup, folder, options).run(folder.row_store)


class _Session:
    """Collects the records of a run and shows them."""

    def __init__(self, setup: StreamSetup, folder: StreamFolder | None, options: argparse.Namespace) -> None:
        self.setup, self.folder, self.options = setup, folder, options
        self.display = make_display(options.every)
        self.parts: dict[str, list[NamedArrays]] = {model.name: [] for model in setup.models}
        self.detectors = {model.name: DropDetector() for model in setup.models}
        self.resumed_rows, self.resumed_s = 0, 0.0
        self.signal = 0
        self.loss = ""

    def run(self, rows: Path) -> int:
        """Runs to the end of the rows, a fault or a signal; returns the exit status.

        Args:
            rows: file for past rows, where they are not in memory.
        """
        setup, folder = self.setup, self.folder
        n_columns = len(setup.source.columns)
        store = RowStore(rows, n_columns, setup.dtype) if self.options.past == "store" else None
        fault: DataError | None = None
        runs: dict[str, StreamRun] = {}
        try:
            with self._listening():
                runs = run_streams(
                    make_estimators(
                        setup, self.options.seed, None if store is None else fetch_from(store, n_columns)
                    ),
                    lambda first: read_checked(setup.source, setup.models, setup.dtype, setup.n_rows, first),
                    n_columns,
                    chunk_sizes=setup.chunk_sizes,
                    capacity=self.options.capacity,
                    dtype=setup.dtype,
                    checkpoint=None if folder is None else folder.checkpoint(),
                    store=store,
                    report=self._report,
                    stop=lambda: bool(self.signal or self.loss),
                )
        except DataError as error:
            fault = error
        finally:
            if any(self.parts.values()):
                self.display.show(self._status(), last=True)
            self.display.close()
            if store is not None:
                store.close()
        if any(self.parts.values()):
            self._keep(runs)
        return self._conclude(fault)

    def _report(self, found: dict[str, NamedArrays], resumed: bool) -> None:
        for name, record in found.items():
            before = self.parts[name][-1] if self.parts[name] else None
            self.parts[name].append(record)
            scores = chunk_scores(
                record["log_evidence"],
                record["n_rows"],
                0.0 if before is None else float(before["log_evidence"][-1]),
                0 if before is None else int(before["n_rows"][-1]),
            )
            for score, n_rows in zip(*scores, strict=True):
                change = self.detectors[name].see(float(score), int(n_rows))
                if change is not None and not resumed:
                    self.display.say(describe_change(name, change))
            lost = np.flatnonzero(~np.isfinite(record["log_evidence"]))
            if len(lost) and not self.loss:
                self.loss = (
                    f"all particles of model {name} were lost before row {int(record['n_rows'][lost[0]]):,}: its log "
                    "evidence is not finite. Standardise the columns or lower --learning-rate"
                )
        if resumed:
            record = next(iter(found.values()))
            self.resumed_rows, self.resumed_s = int(record["n_rows"][-1]), float(record["seconds"][-1])
            self.display.say(f"goes on after row {self.resumed_rows}")
        else:
            self.display.show(self._status())

    def _status(self) -> Status:
        last = {name: parts[-1] for name, parts in self.parts.items()}
        standing = self._standings(last)
        record = next(iter(last.values()))
        n_rows, seconds = int(record["n_rows"][-1]), float(record["seconds"][-1])
        speed = (n_rows - self.resumed_rows) / max(seconds - self.resumed_s, 1e-9)
        models = [
            ModelStatus(name, Standing(*(np.asarray(values[-1]) for values in standing[name])), float(steps))
            for name, steps in ((name, record["n_annealing_steps"].mean()) for name, record in last.items())
        ]
        return Status(n_rows, self.setup.total_rows, speed, models)

    def _standings(self, records: dict[str, NamedArrays]) -> dict[str, Standing]:
        return standings(records, self.setup.n_replicates, self.setup.bias)

    def _keep(self, runs: dict[str, StreamRun]) -> None:
        records = {
            name: {field: np.concatenate([part[field] for part in parts]) for field in parts[0]}
            for name, parts in self.parts.items()
        }
        for name, record in records.items():
            for field, what in (
                ("n_not_finite", "lost particles"),
                ("n_unfinished", "chunks given up before they were absorbed"),
            ):
                number = record[field].max() if field == "n_not_finite" else record[field].sum()
                if number:
                    self._say(f"model {name}: {number} {what}")
        self._say_what_is_resolved(records)
        if self.folder is not None:
            table = record_table(
                records, self._standings(records), any(run.provisional for run in runs.values())
            )
            self.folder.write_tables(table, self._particles(runs) if runs else None)

    def _particles(self, runs: dict[str, StreamRun]) -> pd.DataFrame:
        tables = []
        for model in self.setup.models:
            state = runs[model.name].state
            n_particles = len(state.particles)
            each = n_particles // self.setup.n_replicates
            for name, values in jax.vmap(model.model.natural)(state.particles).items():
                array = np.asarray(values, dtype=np.float64).reshape(n_particles, -1)
                tables.append(
                    pd.DataFrame(
                        {
                            "model": model.name,
                            "replicate": np.repeat(np.arange(n_particles) // each, array.shape[1]),
                            "particle": np.repeat(np.arange(n_particles) % each, array.shape[1]),
                            "log_weight": np.repeat(np.asarray(state.log_weights), array.shape[1]),
                            "parameter": name,
                            "element": np.tile(np.arange(array.shape[1]), n_particles),
                            "value": array.ravel(),
                        }
                    )
                )
        return pd.concat(tables, ignore_index=True)

    def _say_what_is_resolved(self, records: dict[str, NamedArrays]) -> None:
        if self.setup.n_replicates == 1:
            self._say("one replicate has no error: --replicates 4 gives one")
        n_rows = int(next(iter(records.values()))["n_rows"][-1])
        shortfall = n_rows * max((bias for bias in self.setup.bias if bias is not None), default=0.0)
        if shortfall >= 1.0:
            self._say(
                f"the estimates may fall short by about {shortfall:.0f} nats after {n_rows} rows, which the errors "
                "count; --estimator running_laplace does not. See 'What the numbers can tell' in docs/streaming.md"
            )
        if len(records) < 2:
            return
        ranked = sorted(self._standings(records).values(), key=lambda one: float(one.log_evidence[-1]))
        gap = float(ranked[-1].log_evidence[-1] - ranked[-2].log_evidence[-1])
        error = float(ranked[-2].log_bayes_factor_error[-1])
        if gap < 2.0 * error:
            self._say(
                f"the best two models differ by {gap:.2f} +- {error:.2f} nats: it is not resolved which is better"
            )

    def _conclude(self, fault: DataError | None) -> int:
        kept = "" if self.folder is None else str(self.folder.path)
        if fault is not None:
            end = (
                f"the record up to the last whole chunk is in {kept}; the same command goes on from there"
                if kept and any(self.parts.values())
                else "nothing was kept: with --output DIR the run could go on from there"
                if any(self.parts.values())
                else "no whole chunk came before it"
            )
            raise CommandError(f"{fault}. {end[0].upper()}{end[1:]}", 1)
        if self.loss:
            restart = (
                f"; then start again with --restart, for {kept} holds the lost particles" if kept else ""
            )
            raise CommandError(self.loss + restart, 1)
        if self.signal:
            self._say(
                f"stopped; the same command goes on from {kept}"
                if kept
                else "stopped; nothing was kept (no --output)"
            )
            return _SIGNALLED + self.signal
        if kept:
            self._say(f"record, settings and state are in {kept}")
        return 0

    def _say(self, text: str) -> None:
        print(f"auxmc: {text}", file=sys.stderr, flush=True)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Ends the run in good order at the first signal, at once at the second."""

        def listen(number: int, frame: FrameType | None) -> None:
            del frame
            self.signal = number
            for one, handler in before.items():
                signal.signal(one, handler)
            self._say("stops after the chunks that are being absorbed; once more to stop at once")

        before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            for one in before:
                signal.signal(one, listen)
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
