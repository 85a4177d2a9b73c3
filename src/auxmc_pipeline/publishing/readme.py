"""What the README says of kept results, between marks: claims by verdict, and what each preset costs."""

import math

import pandas as pd

from auxmc.command_line.columns import duration
from auxmc_pipeline.catalogue import load_study, studies
from auxmc_pipeline.judging.counts import Counts, counts_by_document
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.published import Published
from auxmc_pipeline.judging.verdicts import VERDICTS
from auxmc_pipeline.publishing.costs import CaseCost, case_costs, recorded_jobs, schedule
from auxmc_pipeline.publishing.marks import between_marks
from auxmc_pipeline.settings import PRESETS

__all__ = ["with_results"]

_CORES = (2, 64)


def with_results(text: str, published: Published) -> str:
    """A page whose tables of counts and costs, each between two marks, are those of kept results.

    Raises:
        ValueError: the page lacks marks.
    """
    for name, table in (("counts", _counts_table(published)), ("costs", _costs_table())):
        text = between_marks(text, name, table)
    return text


def _counts_table(published: Published) -> str:
    """Claims by document and verdict, and which run they are from."""
    counted = counts_by_document(pd.concat(published.judged.values(), ignore_index=True))
    names = [(document.name, document.key) for document in read_documents()]
    rows = [["claims of", *VERDICTS, "all", "expected wrong"]]
    rows += [_cells(name, counted[key]) for name, key in names if key in counted]
    own = counted[""]
    return (
        f"{_markdown(rows)}\nOne claim is one numbered statement; the worst of its lines counts. Beside them "
        f"{own.n_claims} checks of our own, {own.verdicts['reproduced']} of which hold.\n"
        f"Run: {published.run_in_words}.\n"
    )


def _cells(name: str, counts: Counts) -> list[str]:
    numbers = [*counts.verdicts.values(), counts.n_claims]
    return [name, *map(str, numbers), f"{counts.expected_wrong:.1f}"]


def _costs_table() -> str:
    """CPU time, longest job, memory and time of each preset: on record, or expected."""
    rows = [["preset", "CPU time", "recorded", "longest job", "memory", *(f"on {n} cores" for n in _CORES)]]
    for preset in PRESETS:
        cases = [case for name in studies() for case in case_costs(load_study(name), preset)]
        known = [case for case in cases if math.isfinite(case.total)]
        if not known:
            continue
        longest = max(seconds for case in known for seconds in case.pieces)
        whole = duration(_seconds(known))
        share = _seconds([case for case in known if case.source == "recorded"]) / _seconds(known)
        times = [duration(schedule(known, n)) for n in _CORES]
        rows.append([f"`{preset}`", whole, f"{share:.0%}", duration(longest), _memory(preset), *times])
    return _markdown(rows)


def _seconds(cases: list[CaseCost]) -> float:
    return sum(case.total for case in cases)


def _memory(preset: str) -> str:
    """Most memory of a job."""
    most = pd.Series([recorded_jobs(name, preset)["peak_memory_mib"].max() for name in studies()]).max()
    return f"{most / 1024:.1f} GiB" if math.isfinite(most) else "not recorded"


def _markdown(rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [rows[0], ["---"] * len(rows[0]), *rows[1:]])
