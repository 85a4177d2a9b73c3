"""Tables of the README, between marks: claims by verdict, and the cost of each preset."""

from collections.abc import Sequence

import pandas as pd

from auxmc.command_line.columns import duration
from auxmc_pipeline.catalogue import studies
from auxmc_pipeline.jobs import recorded_jobs
from auxmc_pipeline.judging.counts import verdicts_table
from auxmc_pipeline.judging.published import Published
from auxmc_pipeline.settings import PRESETS

_CORES = (2, 64)


def with_results(text: str, published: Published) -> str:
    """A page whose tables of counts and costs are those of the published results."""
    with_counts = between_marks(text, "counts", _counts_table(published))
    return between_marks(with_counts, "costs", _costs_table())


def between_marks(text: str, name: str, content: str, page: str = "the page") -> str:
    """A text with other content, whole lines, between the two marks of a name; raises ValueError without these.

    >>> print(between_marks("before\\n<!-- costs: begin -->\\nold\\n<!-- costs: end -->\\n", "costs", "new\\n"), end="")
    before
    <!-- costs: begin -->
    new
    <!-- costs: end -->
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = text.partition(begin)
    _, also_found, after = rest.partition(end)
    if not (found and also_found):
        raise ValueError(f"{page} lacks the marks {begin.strip()} and {end}: where should the text go?")
    return f"{before}{begin}{content}{end}{after}"


def run_time(cpu_s: "pd.Series[float]", n_cores: int) -> float:
    """Seconds that jobs take on a number of cores, at least: shared evenly, and no shorter than the longest.

    >>> run_time(pd.Series([60.0, 30.0]), 2), run_time(pd.Series([60.0, 60.0, 60.0]), 2)
    (60.0, 90.0)
    """
    return float(max(cpu_s.sum() / n_cores, cpu_s.max()))


def _counts_table(published: Published) -> str:
    table = verdicts_table(published.judged, "{:.1f}").drop(columns="misprints")
    rows = [["claims of", *table.columns[1:]], *table.astype(str).to_numpy().tolist()]
    return (
        f"{markdown(rows)}\nOf the lines of a claim the worst counts, of several readings the best. A claim "
        "that stands in two documents\ncounts in both.\n"
        f"Run: {published.run_in_words}.\n"
    )


def _costs_table() -> str:
    rows = [["preset", "CPU time", "longest job", "memory", *(f"on {n} cores" for n in _CORES)]]
    for preset in PRESETS:
        jobs = pd.concat([recorded_jobs(name, preset) for name in studies()])
        if len(jobs):
            times = [duration(run_time(jobs["cpu_s"], n)) for n in _CORES]
            whole, longest = duration(jobs["cpu_s"].sum()), duration(jobs["cpu_s"].max())
            memory = f"{jobs['peak_memory_mib'].max() / 1024:.1f} GiB"
            rows.append([f"`{preset}`", whole, longest, memory, *times])
    return markdown(rows)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its header."""
    first, *rest = (f"| {' | '.join(row)} |\n" for row in rows)
    return f"{first}{'|---' * len(rows[0])}|\n{''.join(rest)}"
