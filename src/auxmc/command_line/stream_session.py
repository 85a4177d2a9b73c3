"""A run of `auxmc stream`: shown while it runs, stopped and resumed, and kept."""

import argparse
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType

import numpy as np

from auxmc.command_line.errors import say
from auxmc.command_line.run_folder import RunFolder, alone_in
from auxmc.command_line.stream_display import Display
from auxmc.command_line.stream_record import particle_table, rank_models, record_table
from auxmc.command_line.stream_setup import StreamSetup, prepare
from auxmc.data.row_store import RowStore
from auxmc.diagnostics.change_points import ChangePoint, DropDetector, chunk_scores
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.provenance import fingerprint
from auxmc.driver.stream_program import fetch_from
from auxmc.driver.streams import StreamRun, run_streams
from auxmc.errors import CommandError, DataError
from auxmc.models.user_model import importing_from
from auxmc.numerics.array_types import NamedArrays

__all__ = ["StreamFolder", "run_session"]

# Exit status of a program that a signal ended, less the signal's number.
_SIGNALLED = 128


class StreamFolder(RunFolder):
    """Folder of the record of a stream."""

    results = ("record.parquet", "record.csv", "particles.parquet", "particles.csv")

    def checkpoint(self) -> Checkpoint:
        """Returns where the driver keeps its state."""
        return Checkpoint(self.state, fingerprint(self.numbers))


def run_session(options: argparse.Namespace) -> int:
    """Runs the subcommand; JAX must have been configured.

    Returns:
        Exit status: 0, or 128 and the number of the signal that stopped the run.

    Raises:
        CommandError: If an option, the data or a model cannot be used, or all particles of a model were lost.
    """
    own = [text for text in options.model if ".py" in text]
    folders = {Path(text[: text.index(".py")]).resolve().parent for text in own}
    try:
        # Of several folders, each could have a module of the same name.
        with importing_from(folders.pop()) if len(folders) == 1 else nullcontext():
            setup = prepare(options)
            if options.output is None:
                with tempfile.TemporaryDirectory() as temporary:
                    return _Session(setup, None).run(Path(temporary) / "rows.bin")
            with alone_in(options.output):
                folder = StreamFolder(options.output, setup.numbers, restart=options.restart)
                folder.begin({"data": str(options.data), "output": str(options.output)})
                return _Session(setup, folder).run(folder.state / "rows.bin")
    except (CommandError, OSError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        # Functions of the user's files are called all along, and may fail in any way, `exit()` included.
        if not own:
            raise
        words = " ".join(str(error).split())
        raise CommandError(
            f"--model {', '.join(own)}: fails: {type(error).__name__}: {words[:300]}", 1
        ) from error


class _Session:
    """Collects the records of a run and shows them."""

    def __init__(self, setup: StreamSetup, folder: StreamFolder | None) -> None:
        self.setup, self.folder, self.options = setup, folder, setup.options
        self.display = Display(self.options.every, setup.total_rows)
        self.parts: dict[str, list[NamedArrays]] = {model.name: [] for model in setup.models}
        self.detectors = {model.name: DropDetector() for model in setup.models}
        self.signal, self.loss = 0, ""

    def run(self, rows: Path) -> int:
        """Runs to the end of the rows, a fault or a signal; returns the exit status.

        Args:
            rows: file for past rows, where they are not in memory.
        """
        setup, n_columns = self.setup, len(self.setup.source.columns)
        store = RowStore(rows, n_columns, setup.dtype) if self.options.past == "store" else None
        folder, fault = self.folder, None
        runs: dict[str, StreamRun] = {}
        try:
            with self._listening():
                runs = run_streams(
                    setup.estimators(None if store is None else fetch_from(store, n_columns)),
                    setup.read,
                    n_columns,
                    chunk_sizes=setup.chunk_sizes,
                    capacity=self.options.capacity,
                    dtype=setup.dtype,
                    checkpoint=folder.checkpoint() if folder else None,
                    store=store,
                    report=self._report,
                    stop=lambda: bool(self.signal or self.loss),
                )
        except DataError as error:
            fault = error
        finally:
            if any(self.parts.values()):
                self._show(last=True)
            self.display.close()
            if store is not None:
                store.close()
        if any(self.parts.values()):
            self._keep(runs)
        return self._conclude(fault)

    def _report(self, found: dict[str, NamedArrays], resumed: bool) -> None:
        for name, record in found.items():
            before = self.parts[name][-1:]
            last = (before[0]["log_evidence"][-1], before[0]["n_rows"][-1]) if before else (0.0, 0)
            self.parts[name].append(record)
            scores = chunk_scores(record["log_evidence"], record["n_rows"], *last)
            for score, n_rows in zip(*scores, strict=True):
                change = self.detectors[name].see(float(score), int(n_rows))
                if change is not None and not resumed:
                    self.display.say(_describe_change(name, change))
            lost = np.flatnonzero(~np.isfinite(record["log_evidence"]))
            if len(lost) and not self.loss:
                row = int(record["n_rows"][lost[0]])
                self.loss = (
                    f"model {name}: all particles were lost before row {row:,}; standardise the columns or lower "
                    "--learning-rate"
                )
        if resumed:
            self.display.say(f"resumed after row {next(iter(found.values()))['n_rows'][-1]}")
        else:
            self._show()

    def _show(self, *, last: bool = False) -> None:
        self.display.show(self._ranked({name: parts[-1] for name, parts in self.parts.items()}), last=last)

    def _ranked(self, records: dict[str, NamedArrays]) -> dict[str, NamedArrays]:
        return rank_models(records, self.options.replicates, self.setup.bias)

    def _keep(self, runs: dict[str, StreamRun]) -> None:
        """Says what is wrong with the record, and writes it."""
        ranked = self._ranked(
            {
                name: {field: np.concatenate([part[field] for part in parts]) for field in parts[0]}
                for name, parts in self.parts.items()
            }
        )
        for name, record in ranked.items():
            if lost := record["n_not_finite"].max():
                say(f"model {name}: {lost} lost particles")
            if unfinished := record["n_unfinished"].sum():
                say(f"model {name}: {unfinished} chunks given up before they were absorbed")
        self._say_what_is_resolved(ranked)
        if self.folder is None:
            return
        self.folder.write_table("record", record_table(ranked, any(run.provisional for run in runs.values())))
        if runs:
            particles = particle_table(self.setup.models, runs, self.options.replicates)
            self.folder.write_table("particles", particles)

    def _say_what_is_resolved(self, ranked: dict[str, NamedArrays]) -> None:
        if self.options.replicates == 1:
            say("one replicate has no error: --replicates 4 gives one")
        n_rows = int(next(iter(ranked.values()))["n_rows"][-1])
        shortfall = n_rows * max((bias for bias in self.setup.bias if bias is not None), default=0.0)
        if shortfall >= 1.0:
            say(
                f"the estimates may fall short by about {shortfall:.0f} nats after {n_rows} rows, which the errors "
                "count; --estimator running_laplace does not"
            )
        last = sorted(
            (-record["log_bayes_factor"][-1], record["log_bayes_factor_error"][-1])
            for record in ranked.values()
        )
        if len(last) > 1 and last[1][0] < 2.0 * last[1][1]:
            gap, error = last[1]
            say(
                f"the best two models differ by {gap:.2f} +- {error:.2f} nats: it is not resolved which is better"
            )

    def _conclude(self, fault: DataError | None) -> int:
        """Returns the exit status; raises the error that ended the run."""
        folder = self.folder and self.folder.path
        if fault is not None:
            kept = f"the chunks before it are in {folder}" if folder else "nothing was kept without --output"
            raise CommandError(f"{fault}; {kept}", 1)
        if self.loss:
            restart = f"; then use --restart, since {folder} holds the lost particles" if folder else ""
            raise CommandError(self.loss + restart, 1)
        if self.signal:
            say(f"stopped; the same command resumes from {folder}" if folder else "stopped; nothing was kept")
            return _SIGNALLED + self.signal
        if folder:
            say(f"record, settings and state are in {folder}")
        return 0

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Ends the run after the current chunks at the first signal; the second one acts as before."""

        def listen(number: int, frame: FrameType | None) -> None:
            del frame
            self.signal = number
            signal.signal(number, before[signal.Signals(number)])
            say("finishing the current chunks; press Ctrl-C again to abort")

        before = {number: signal.signal(number, listen) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _describe_change(name: str, change: ChangePoint) -> str:
    kind = "sudden drop" if change.kind == "jump" else "lasting drop"
    return (
        f"change point: rows {change.first_row} to {change.last_row}, model {name}: {change.score:.3f} nats a row, "
        f"expected {change.expected:.3f} ({kind}, {change.size:.1f} standard deviations)"
    )
