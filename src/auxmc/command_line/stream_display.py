"""The running evidence as it is printed: a table that is redrawn in a terminal, plain lines elsewhere."""

import math
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TextIO

from auxmc.command_line.columns import duration, value_with_error
from auxmc.command_line.stream_record import Standing
from auxmc.diagnostics.change_points import ChangePoint
from auxmc.numerics.array_types import FloatArray

__all__ = ["Display", "ModelStatus", "Status", "describe_change", "make_display"]

_HEADINGS = ("rows", "model", "log evidence", "a row", "log Bayes factor", "probability", "steps")
_LEFT = ("model",)
_WIDTHS = {
    "rows": 13,
    "log evidence": 22,
    "a row": 10,
    "log Bayes factor": 20,
    "probability": 11,
    "steps": 7,
}


class ModelStatus(NamedTuple):
    """Where a model stands.

    Attributes:
        name: of the model.
        now: its evidence, Bayes factor and probability, each a number.
        steps: annealing steps of a chunk, mean over the last block.
    """

    name: str
    now: Standing
    steps: float


class Status(NamedTuple):
    """Where a run stands.

    Attributes:
        n_rows: rows absorbed.
        total_rows: rows of the stream, where known.
        rows_per_s: speed since this process began to run.
        models: in the order given.
    """

    n_rows: int
    total_rows: int | None
    rows_per_s: float
    models: Sequence[ModelStatus]


class Display(Protocol):
    """Something that shows a run."""

    def show(self, status: Status, last: bool = False) -> None:
        """Shows where the run stands; `last` is shown however little time has passed."""

    def say(self, text: str) -> None:
        """Prints a line that stays."""

    def close(self) -> None:
        """Leaves the screen as it is."""


def make_display(interval_s: float, output: TextIO | None = None) -> Display:
    """A display that fits where the output goes.

    Args:
        interval_s: least time between two updates of plain lines.
        output: standard output by default.
    """
    file = output or sys.stdout
    return _Terminal(file) if file.isatty() else _Lines(file, interval_s)


def describe_change(name: str, change: ChangePoint) -> str:
    """One line about a change point of a model."""
    size = "" if change.size == float("inf") else f", {change.size:.1f} standard deviations"
    kind = "sudden drop" if change.kind == "jump" else "lasting drop"
    return (
        f"change point: rows {change.first_row} to {change.last_row}, model {name}: {change.score:.3f} nats a row "
        f"where {change.expected:.3f} were expected ({kind}{size})"
    )


class _Lines:
    """Columns of plain text, which also read well in a file."""

    def __init__(self, file: TextIO, interval_s: float) -> None:
        self._file, self._interval_s = file, interval_s
        self._last = -float("inf")
        self._width = 0

    def show(self, status: Status, last: bool = False) -> None:
        now = time.monotonic()
        if not last and now - self._last < self._interval_s:
            return
        self._last = now
        if not self._width:
            self._width = max(len("model"), *(len(model.name) for model in status.models))
            print(self._line(_HEADINGS), file=self._file)
        for model in status.models:
            print(self._line(_cells(status.n_rows, model)), file=self._file)
        if not last:
            print(f"# {_speed(status)}", file=self._file)
        self._file.flush()

    def say(self, text: str) -> None:
        print(f"# {text}", file=self._file, flush=True)

    def close(self) -> None:
        self._file.flush()

    def _line(self, cells: Sequence[str]) -> str:
        parts = [
            cell.ljust(self._width) if name in _LEFT else cell.rjust(_WIDTHS[name])
            for name, cell in zip(_HEADINGS, cells, strict=True)
        ]
        return "  ".join(parts).rstrip()


class _Terminal:
    """A table in its place, with a bar where the number of rows is known."""

    def __init__(self, file: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=file, highlight=False)
        self._live = Live(console=self._console, refresh_per_second=4, transient=False)
        self._live.start()

    def show(self, status: Status, last: bool = False) -> None:
        from rich.box import SIMPLE
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        table = Table(box=SIMPLE)
        for name in _HEADINGS[1:]:
            # A long name is folded where the terminal is narrow; numbers are not.
            left = name in _LEFT
            table.add_column(
                name, justify="left" if left else "right", overflow="fold", min_width=None if left else 7
            )
        best = max(float(model.now.log_evidence) for model in status.models)
        for model in status.models:
            style = "bold" if model.now.log_evidence == best and len(status.models) > 1 else ""
            table.add_row(*_cells(status.n_rows, model)[1:], style=style)
        parts: list[object] = [f"{status.n_rows:,} rows", table]
        if not last:
            if status.total_rows:
                parts.append(ProgressBar(total=status.total_rows, completed=status.n_rows, width=60))
            parts.append(_speed(status))
        self._live.update(Group(*parts), refresh=last)  # type: ignore[arg-type]

    def say(self, text: str) -> None:
        self._live.console.print(text, markup=False)

    def close(self) -> None:
        self._live.stop()


def _cells(n_rows: int, model: ModelStatus) -> tuple[str, ...]:
    return (
        str(n_rows),
        model.name,
        _with_error(model.now.log_evidence, model.now.log_evidence_error),
        f"{model.now.log_evidence / n_rows:.5f}",
        _with_error(model.now.log_bayes_factor, model.now.log_bayes_factor_error),
        f"{model.now.probability:.4g}",
        f"{model.steps:.1f}",
    )


def _with_error(value: FloatArray, error: FloatArray) -> str:
    if math.isfinite(error) and error > 0.0:
        return value_with_error(float(value), float(error))
    # Nothing says how many digits count: a log evidence of a million rows has seven before the point.
    return f"{value:.2f} +- {'?' if math.isnan(error) else f'{error:.2f}'}"


def _speed(status: Status) -> str:
    text = f"{status.rows_per_s:,.0f} rows/s"
    if status.total_rows and status.rows_per_s > 0.0:
        left_s = max(0.0, (status.total_rows - status.n_rows) / status.rows_per_s)
        share = 100.0 * status.n_rows / status.total_rows
        text += f", {share:.0f} % of {status.total_rows:,} rows, about {duration(left_s)} left"
    return text
