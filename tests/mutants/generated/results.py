"""Kept results of generated changes, reasons why survivors are harmless, and the part of the page about them."""

import csv
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.mutants.generated.changes import OPERATORS, Change
from tests.mutants.generated.check import Result

__all__ = [
    "RESULTS",
    "TITLE",
    "Row",
    "merged",
    "read_harmless",
    "read_rows",
    "row_of",
    "section",
    "write_rows",
]

RESULTS = Path(__file__).with_name("results.csv")
HARMLESS = Path(__file__).with_name("harmless.toml")
TITLE = "## Changes made by machine"


class Row(NamedTuple):
    """A line of the file of results; all texts.

    Attributes:
        module: path of the changed module.
        line: number of the changed line.
        function: around it.
        operator: kind of change.
        before: the line.
        after: the line with the change.
        number: of the change among those that look the same.
        outcome: as in Result.
        by: test that noticed.
        how: "failed" by an assertion, "broke" by another error, or "no end".
        asked: files of tests that were asked.
        nearest: files that import the module, directly or not.
        seconds: of processor time.
    """

    module: str
    line: str
    function: str
    operator: str
    before: str
    after: str
    number: str
    outcome: str
    by: str
    how: str
    asked: str
    nearest: str
    seconds: str

    @property
    def name(self) -> str:
        """That of the change."""
        return "|".join((self.module, self.function, self.operator, self.before, self.after, self.number))


def row_of(result: Result) -> Row:
    """A result as a line."""
    change = result.change
    return Row(
        change.module,
        str(change.line),
        change.function,
        change.operator,
        change.before,
        change.after,
        str(change.number),
        result.outcome,
        result.by,
        result.how,
        str(result.asked),
        str(result.nearest),
        f"{result.seconds:.1f}",
    )


def read_rows(path: Path = RESULTS) -> list[Row]:
    """Lines that were written before; none where there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(**line) for line in csv.DictReader(file)]


def write_rows(rows: Iterable[Row], path: Path = RESULTS) -> None:
    """Writes lines in the order of the modules."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(sorted(rows, key=lambda row: (row.module, int(row.line), row.after, row.number)))


def merged(before: Iterable[Row], new: Iterable[Row], present: Mapping[str, Change]) -> list[Row]:
    """Lines of changes that the source still allows, the newest of each, with the present numbers of their lines."""
    rows = {row.name: row for row in (*before, *new)}
    return [row._replace(line=str(present[name].line)) for name, row in rows.items() if name in present]


def read_harmless(path: Path = HARMLESS) -> dict[str, str]:
    """Reasons why survivors are harmless, by the names of the changes.

    Raises:
        ValueError: an entry has no reason, or is there twice.
    """
    reasons: dict[str, str] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("harmless", []):
        row = [entry[key] for key in ("module", "function", "operator", "before", "after")]
        name = "|".join((*row, str(entry.get("number", 0))))
        if not entry.get("reason", "").strip():
            raise ValueError(f"{path.name}: no reason is given for {entry['after']!r} in {entry['module']}")
        if name in reasons:
            raise ValueError(f"{path.name}: two entries for {entry['after']!r} in {entry['module']}")
        reasons[name] = entry["reason"].strip()
    return reasons


def section(rows: Sequence[Row], reasons: Mapping[str, str], n_changes: int) -> str:
    """The part of the page about generated changes.

    Args:
        rows: kept results.
        reasons: of survivors that are harmless.
        n_changes: that the source allows.
    """
    survivors = [row for row in rows if row.outcome == "survived"]
    unexplained = [row for row in survivors if row.name not in reasons]
    by_assertion = sum(row.how == "failed" for row in rows)
    lines = [
        TITLE,
        "",
        f"Written by `python -m tests.mutants.generated --write`. The source allows {n_changes} changes of the kinds",
        f"below; {len(rows)} of them, drawn by seed, have been tried: {by_assertion} made an assertion fail,",
        f"{sum(row.how == 'broke' for row in rows)} raised another error, "
        f"{sum(row.outcome == 'no end' for row in rows)} came to no end, {len(survivors)} survived. "
        f"{len(unexplained)} survivors are unexplained. Every line: `tests/mutants/generated/results.csv`.",
        "",
        "`make mutation-check SAMPLE=60`, or `MINUTES=60`, tries others (`SEED=...` for the same ones again). A change",
        "is put into a copy of the project. The files of tests that import its module, directly or not, are asked,",
        "the nearest first, without those known not to enter the function; a test counts only if it passes without",
        "the change. `make test-all` draws changes of this list: the test that noticed must notice again.",
        "",
        "Neither mutmut (3.8) nor cosmic-ray (8.7) does this: mutmut leaves out decorated functions, as those of",
        "`jax.jit`, and code outside functions; cosmic-ray starts a process a change and asks one fixed command. Here",
        "processes are forked from one that has imported JAX, and the change is made before the project is imported.",
        "",
        "| part | tried | noticed | survived, harmless | survived, unexplained |",
        "|---|---|---|---|---|",
        *_counts(rows, reasons),
        "",
        "| kind of change | what is changed | tried | noticed | survived |",
        "|---|---|---|---|---|",
        *(
            f"| {operator} | {_cell(what)} | {len(of)} | {sum(row.outcome != 'survived' for row in of)} "
            f"| {sum(row.outcome == 'survived' for row in of)} |"
            for operator, what in OPERATORS.items()
            for of in [[row for row in rows if row.operator == operator]]
        ),
    ]
    if survivors:
        lines += ["", "| survivor | change | why it is harmless |", "|---|---|---|"]
        for row in sorted(survivors, key=lambda row: (row.module, int(row.line))):
            change = f"`{_cell(row.before)}` → `{_cell(row.after)}`"
            lines.append(f"| {_short(row)} | {change} | {_cell(reasons.get(row.name, '**unexplained**'))} |")
    return "\n".join(lines) + "\n"


def _counts(rows: Sequence[Row], reasons: Mapping[str, str]) -> list[str]:
    lines = []
    for name in sorted({_part(row) for row in rows}):
        of = [row for row in rows if _part(row) == name]
        survived = [row for row in of if row.outcome == "survived"]
        harmless = sum(row.name in reasons for row in survived)
        counts = (len(of), len(of) - len(survived), harmless, len(survived) - harmless)
        lines.append(f"| {name} | " + " | ".join(map(str, counts)) + " |")
    return lines


def _part(row: Row) -> str:
    package, part = row.module.split("/")[1:3]
    return "claims" if package == "auxmc_pipeline" else part


def _short(row: Row) -> str:
    return f"{row.module.removeprefix('src/').removeprefix('auxmc/')}:{row.line}"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
