"""A run of `auxmc stream`: shown while it runs, stopped and resumed, and kept."""

import argparse
import math
import signal
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TextIO

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from auxmc.command_line.columns import value_with_error
from auxmc.command_line.errors import say
from auxmc.command_line.interrupts import answering
from auxmc.command_line.run_folder import RunFolder, alone_in
from auxmc.command_line.stream_record import particle_table, rank_models, record_table
from auxmc.command_line.stream_setup import StreamSetup, prepare
from auxmc.data.row_store import RowStore
from auxmc.diagnostics.stream_changes import ChangePoint, DropDetector, chunk_scores
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.provenance import fingerprint
from auxmc.driver.stream_program import fetch_from
from auxmc.driver.streams import StreamRun, join_records, run_streams
from auxmc.errors import AuxmcError, CommandError, DataError
from auxmc.models.user_model import importing_from
from auxmc.numerics.array_types import NamedArrays

_HEADINGS = ("rows", "log evidence", "a row", "log Bayes factor", "probability", "steps")
# Outside of a terminal lines are not folded.
_WIDTH = 160


class StreamFolder(RunFolder):
    """Folder of the record of a stream."""

    results = ("record.parquet", "record.csv", "particles.parquet", "particles.csv")


def run_session(options: argparse.Namespace) -> int:
    """Runs the subcommand, JAX being configured; returns 0, or 128 and the number of the signal that stopped it."""
    own = [text for text in options.model if ".py" in text]
    folders = {Path(text[: text.index(".py")]).resolve().parent for text in own}
    try:
        # Of several folders, each could have a module of the same name.
        with importing_from(folders.pop()) if len(folders) == 1 else nullcontext():
            setup = prepare(options)
            if options.output is None:
                with tempfile.TemporaryDirectory() as temporary:
                    return _Session(setup, None).run(Path(temporary))
            with alone_in(options.output):
                folder = StreamFolder(options.output, setup.numbers, restart=options.restart)
                folder.begin({"data": str(options.data), "output": str(options.output)})
                return _Session(setup, folder).run(folder.state)
    except (AuxmcError, OSError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        # Functions of the user's files are called all along, and may fail in any way, `exit()` included.
        if not own:
            raise
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise CommandError(f"--model {', '.join(own)}: fails: {words[:300]}", 1) from error


class Display:
    """The running evidence as a table: redrawn in place in a terminal, printed again elsewhere, some seconds apart."""

    def __init__(self, interval_s: float, total_rows: int | None = None, file: TextIO | None = None) -> None:
        self._console = console = Console(file=file, highlight=False)
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        if self._live is not None:
            self._live.start()
        else:
            console.width = _WIDTH
        self._interval_s, self._total_rows = interval_s, total_rows
        self._shown_s, self._shown_rows = -math.inf, 0

    def show(self, ranked: Mapping[str, NamedArrays], *, last: bool = False) -> None:
        """Shows the last chunk of what `rank_models` returned; the last time, however little time has passed."""
        now, n_rows = time.monotonic(), int(next(iter(ranked.values()))["n_rows"][-1])
        if self._live is not None:
            self._live.update(self._table(ranked, n_rows), refresh=last)
        elif (last or now - self._shown_s >= self._interval_s) and n_rows != self._shown_rows:
            self._shown_s, self._shown_rows = now, n_rows
            self._console.print(self._table(ranked, n_rows))

    def say(self, text: str) -> None:
        """Prints a line that stays."""
        self._console.print(text, markup=False)

    def close(self) -> None:
        """Leaves the screen as it is."""
        if self._live is not None:
            self._live.stop()

    def _table(self, ranked: Mapping[str, NamedArrays], n_rows: int) -> Table:
        done = f"{n_rows / self._total_rows:.0%} of {self._total_rows:,} rows" if self._total_rows else None
        table = Table(box=SIMPLE, caption=done, caption_justify="left")
        table.add_column("model", overflow="fold")
        for heading in _HEADINGS:
            table.add_column(heading, justify="right", min_width=7)
        for name, arrays in ranked.items():
            now = {field: float(values[-1]) for field, values in arrays.items()}
            cells = (
                str(n_rows),
                _with_error(now["log_evidence"], now["log_evidence_error"]),
                f"{now['log_evidence_per_row']:.5f}",
                _with_error(now["log_bayes_factor"], now["log_bayes_factor_error"]),
                f"{now['probability']:.4g}",
                f"{arrays['n_annealing_steps'].mean():.1f}",
            )
            style = "bold" if now["log_bayes_factor"] == 0.0 and len(ranked) > 1 else ""
            table.add_row(Text(name), *cells, style=style)
        return table


def _with_error(value: float, error: float) -> str:
    if math.isfinite(error) and error > 0.0:
        return value_with_error(value, error)
    return f"{value:.2f} +- {'?' if math.isnan(error) else f'{error:.2f}'}"


class _Session:
    def __init__(self, setup: StreamSetup, folder: StreamFolder | None) -> None:
        self.setup, self.folder, self.options = setup, folder, setup.options
        sizes = [n for n in (setup.source.n_rows, self.options.rows) if n is not None]
        self.display = Display(self.options.every, min(sizes, default=None))
        self.parts: dict[str, list[NamedArrays]] = {model.name: [] for model in setup.models}
        self.detectors = {model.name: DropDetector() for model in setup.models}
        self.signal, self.loss = 0, ""

    def run(self, state: Path) -> int:
        """Runs to the end of the rows, a fault or a signal; returns the exit status.

        The folder is for past rows that are not in memory, and for the state where results are kept.
        """
        setup, n_columns, fault = self.setup, len(self.setup.source.columns), ""
        is_stored = self.options.past == "store"
        store = RowStore(state / "rows.bin", n_columns, setup.dtype) if is_stored else None
        checkpoint = Checkpoint(state / "stream", fingerprint(self.folder.numbers)) if self.folder else None
        runs: dict[str, StreamRun] = {}
        try:
            signals = answering(self._stop, signal.SIGINT, signal.SIGTERM)
            with nullcontext() if store is None else closing(store), signals:
                runs = run_streams(
                    setup.estimators(None if store is None else fetch_from(store)),
                    setup.read,
                    n_columns,
                    chunk_sizes=setup.chunk_sizes,
                    capacity=self.options.capacity,
                    dtype=setup.dtype,
                    checkpoint=checkpoint,
                    store=store,
                    report=self._report,
                    stop=lambda: bool(self.signal or self.loss),
                )
        except DataError as error:
            fault = str(error)
        finally:
            if any(self.parts.values()):
                self._show(last=True)
            self.display.close()
        if any(self.parts.values()):
            self._keep(runs)
        where = self.folder and self.folder.path
        if fault:
            kept = f"the chunks before it are in {where}" if where else "nothing was kept without --output"
            raise CommandError(f"{fault}; {kept}", 1)
        if self.loss:
            restart = f"; then use --restart, since {where} holds the lost particles" if where else ""
            raise CommandError(self.loss + restart, 1)
        if self.signal:
            say(f"stopped; the same command resumes from {where}" if where else "stopped; nothing was kept")
            return 128 + self.signal
        if where:
            say(f"record, settings and state are in {where}")
        return 0

    def _report(self, found: dict[str, NamedArrays], is_resumed: bool) -> None:
        """Takes a part of each record, and says what is new in it."""
        for name, record in found.items():
            last = [(part["log_evidence"][-1], part["n_rows"][-1]) for part in self.parts[name][-1:]]
            self.parts[name].append(record)
            scores = chunk_scores(record["log_evidence"], record["n_rows"], *(last or [(0.0, 0)])[0])
            for score, n_rows in zip(*scores, strict=True):
                change = self.detectors[name].see(float(score), int(n_rows))
                if change is not None and not is_resumed:
                    self.display.say(_describe_change(name, change))
            lost = record["n_rows"][~np.isfinite(record["log_evidence"])]
            if len(lost) and not self.loss:
                self.loss = (
                    f"model {name}: all particles were lost before row {lost[0]:,}; standardise the columns or lower "
                    "--learning-rate"
                )
        if is_resumed:
            self.display.say(f"resumed after row {next(iter(found.values()))['n_rows'][-1]}")
        else:
            self._show()

    def _show(self, *, last: bool = False) -> None:
        self.display.show(self._ranked({name: parts[-1] for name, parts in self.parts.items()}), last=last)

    def _ranked(self, records: Mapping[str, NamedArrays]) -> dict[str, NamedArrays]:
        return rank_models(records, self.options.replicates, self.setup.bias)

    def _keep(self, runs: Mapping[str, StreamRun]) -> None:
        """Says what is wrong with the record, and writes it."""
        ranked = self._ranked({name: join_records(parts) for name, parts in self.parts.items()})
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
            states = [runs[model.name].state for model in self.setup.models]
            particles = particle_table(self.setup.models, states, self.options.replicates)
            self.folder.write_table("particles", particles)

    def _say_what_is_resolved(self, ranked: Mapping[str, NamedArrays]) -> None:
        if self.options.replicates == 1:
            say("one replicate has no error: --replicates 4 gives one")
        n_rows = int(next(iter(ranked.values()))["n_rows"][-1])
        shortfall = n_rows * max((bias for bias in self.setup.bias if bias is not None), default=0.0)
        if shortfall >= 1.0:
            short = f"the estimates may fall short by about {shortfall:.0f} nats after {n_rows} rows"
            say(f"{short}, which the errors count; --estimator running_laplace does not")
        names = ("log_bayes_factor", "log_bayes_factor_error")
        gaps = sorted((-one[names[0]][-1], one[names[1]][-1]) for one in ranked.values())
        if len(gaps) > 1 and gaps[1][0] < 2.0 * gaps[1][1]:
            gap = "{:.2f} +- {:.2f} nats".format(*gaps[1])
            say(f"the best two models differ by {gap}: which is better is not resolved")

    def _stop(self, number: int) -> None:
        """Ends the run after the current chunks."""
        self.signal = number
        say("finishing the current chunks; press Ctrl-C again to abort")


def _describe_change(name: str, change: ChangePoint) -> str:
    kind = "sudden drop" if change.kind == "jump" else "lasting drop"
    return (
        f"change point: rows {change.first_row} to {change.last_row}, model {name}: {change.score:.3f} nats a row, "
        f"expected {change.expected:.3f} ({kind}, {change.size:.1f} standard deviations)"
    )
