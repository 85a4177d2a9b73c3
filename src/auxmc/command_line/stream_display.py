"""The running evidence as a table: redrawn in place in a terminal, printed again elsewhere."""

import math
import time
from collections.abc import Mapping
from typing import TextIO

from rich.box import SIMPLE
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from auxmc.command_line.columns import value_with_error
from auxmc.numerics.array_types import NamedArrays

__all__ = ["Display"]

_HEADINGS = ("rows", "log evidence", "a row", "log Bayes factor", "probability", "steps")
# Outside of a terminal lines are not folded.
_WIDTH = 160


class Display:
    """Shows where a run stands.

    Args:
        interval_s: least time between two tables outside of a terminal.
        total_rows: rows of the stream, where known.
        file: standard output by default.
    """

    def __init__(self, interval_s: float, total_rows: int | None = None, file: TextIO | None = None) -> None:
        console = Console(file=file, highlight=False)
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        if self._live is not None:
            self._live.start()
        else:
            console.width = _WIDTH
        self._console, self._interval_s, self._total_rows = console, interval_s, total_rows
        self._shown_s, self._shown_rows = -math.inf, 0

    def show(self, ranked: Mapping[str, NamedArrays], *, last: bool = False) -> None:
        """Shows the last chunk of a record.

        Args:
            ranked: arrays [chunk] of each model, as `rank_models` returns them.
            last: whether to show it however little time has passed.
        """
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
