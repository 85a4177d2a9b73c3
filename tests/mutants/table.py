"""The verdicts as a table for a terminal, and a page that lists all mutations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tests.mutants.mutation import LAYERS, SourceMutation, WrappedMutation
from tests.mutants.runner import Verdict

__all__ = ["Entry", "Row", "entries", "page", "read_page", "rows_of", "terminal_table"]

_HARMLESS = "Changes that are right"
_HEADER = ("mutation", "layer", "what is wrong", "noticed by", "seconds")


class Entry(NamedTuple):
    """What the catalogue says about a mutation: section of the page, name, layers, what is wrong."""

    section: str
    name: str
    layers: str
    what: str


class Row(NamedTuple):
    """An entry and what its last check has found."""

    entry: Entry
    noticed_by: str
    seconds: str


def entries(source: Mapping[str, SourceMutation], wrapped: Mapping[str, WrappedMutation]) -> list[Entry]:
    """What a page must list."""
    found = [
        Entry(_HARMLESS if m.harmless else m.component, name, " ".join(m.tests), m.what)
        for name, m in source.items()
    ]
    return found + [Entry(m.component, name, m.layer, m.what) for name, m in wrapped.items()]


def rows_of(verdicts: Iterable[Verdict]) -> list[Row]:
    """Rows of a page."""
    rows = []
    for verdict in verdicts:
        section = _HARMLESS if verdict.harmless else verdict.component
        entry = Entry(section, verdict.name, " ".join(verdict.layers), verdict.what)
        by = "; ".join(f"`{_short(notice.test, notice.message)}`" for notice in verdict.notices) or "nothing"
        rows.append(Row(entry, by, f"{verdict.seconds:.0f}"))
    return rows


def read_page(text: str) -> list[Row]:
    """Rows of a page that was written before."""
    found, section = [], ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if section and len(cells) == len(_HEADER) and cells[0].startswith("`"):
            found.append(Row(Entry(section, cells[0].strip("`"), cells[1], cells[2]), cells[3], cells[4]))
    return found


def page(rows: Sequence[Row]) -> str:
    """A page in Markdown with a table for each component."""
    sections = sorted({row.entry.section for row in rows} - {_HARMLESS})
    n_wrong = sum(row.entry.section != _HARMLESS for row in rows)
    lines = [
        "# Mutations: broken samplers that the tests must notice",
        "",
        "Written by `python -m tests.mutants --write docs/mutations.md`; `make mutation-check` makes the same check.",
        "",
        "A *mutation* is an error put into a sampler or an estimator on purpose: a line of the source that is changed",
        "in a copy of the project (`tests/mutants/source/`), or a kernel that is wrapped to be wrong",
        "(`tests/mutants/wrapped_*.py`). Each is tagged with the layers of tests that must notice it. The tests must",
        "pass without the mutation, and each of them must fail by an assertion with it: a crash, an import that fails,",
        "or a text that is no longer in the source does not count. The changes at the end are right: their tests must",
        "pass.",
        "",
        f"There are {n_wrong} mutations, and all are noticed. Seconds are wall time of the last check of each, on a",
        "busy machine; those of changed lines include starting pytest.",
        "",
        "| layer | holds |",
        "|---|---|",
        *(f"| {layer} | {holds} |" for layer, holds in LAYERS.items()),
    ]
    for section in [*sections, _HARMLESS]:
        lines += ["", f"## {section}", "", _line(_HEADER), "|---|---|---|---|---|"]
        for entry, noticed_by, seconds in rows:
            if entry.section == section:
                lines.append(_line((f"`{entry.name}`", entry.layers, entry.what, noticed_by, seconds)))
    return "\n".join(lines) + "\n"


def terminal_table(verdicts: Sequence[Verdict]) -> str:
    """A line for each verdict: mutation, component, layers, seconds, caught by."""
    rows = [("mutation", "component", "layer", "seconds", "caught by")]
    for verdict in verdicts:
        by = "; ".join(_short(notice.test, notice.message) for notice in verdict.notices)
        by = by or ("nothing, as it must be" if verdict.harmless else "nothing")
        if verdict.problem:
            by = f"NO: {verdict.problem}"
        rows.append((verdict.name, verdict.component, " ".join(verdict.layers), f"{verdict.seconds:.0f}", by))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = ["  ".join([*(row[i].ljust(widths[i]) for i in range(4)), row[4]]) for row in rows]
    wrong = [verdict for verdict in verdicts if not verdict.harmless]
    n_caught = sum(not verdict.problem for verdict in wrong)
    n_bad = sum(bool(verdict.problem) for verdict in verdicts)
    lines += [
        "",
        f"{n_caught} of {len(wrong)} mutations are caught; {n_bad} of {len(verdicts)} lines are bad.",
    ]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _short(test: str, message: str) -> str:
    """The name of a test without its folder; of a wrapped kernel what the layer said instead."""
    if "test_mutant_is_noticed" in test:
        return message.split(" statistic")[0]
    file, _, name = test.partition("::")
    return f"{file.rsplit('/', 1)[-1]}::{name}"
