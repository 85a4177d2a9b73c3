"""All numerical faults, in the order of the page, and the page that says what came of them."""

from collections.abc import Sequence

from tests.faults.numerical import (
    of_commands,
    of_densities,
    of_estimates,
    of_evidence,
    of_simulators,
    of_streams,
)
from tests.faults.numerical.numerical_trials import WARNED, Found, Trial
from tests.faults.trials import REFUSED, RIGHT

__all__ = ["TRIALS", "numerical_page"]

TRIALS: list[Trial] = [
    *of_densities.TRIALS,
    *of_simulators.TRIALS,
    *of_estimates.TRIALS,
    *of_evidence.TRIALS,
    *of_streams.TRIALS,
    *of_commands.TRIALS,
]
"""Every trial; no two of a family have the same fault."""

_MOST_SHOWN = 200


def numerical_page(results: Sequence[tuple[Trial, Found]]) -> str:
    """The page `docs/numerical_faults.md`."""
    counts = {name: sum(found.outcome == name for _, found in results) for name in (RIGHT, REFUSED, WARNED)}
    n_bad = len(results) - sum(counts.values())
    families = list(dict.fromkeys(trial.family for trial, _ in results))
    tables = []
    for family in families:
        rows = [
            f"| {trial.fault} | {_cell(trial.given)} | {found.outcome} | {_cell(_short(found.message))} |"
            for trial, found in results
            if trial.family == family
        ]
        tables.append(
            f"## {family}\n\n| fault | what is given | outcome | message |\n|---|---|---|---|\n"
            + "\n".join(rows)
        )
    return f"""# Numerical faults: what the library does with them

Written by `python -m tests.faults.numerical --write docs/numerical_faults.md`; `test_numerical_faults.py` in
`tests/unit/interface/` makes the same trials and compares outcome and message. Faults of settings, files and processes:
{{doc}}`faults`.

{len(results)} trials: {counts[RIGHT]} end right, {counts[REFUSED]} are refused, {counts[WARNED]} are warned of,
{n_bad} end badly (in a traceback, or in values that are wrong without a word). What the outcomes mean:

- *{RIGHT}*: the values are those of an exact answer within their Monte Carlo error, and nothing is said.
- *{REFUSED}*: a ValueError or TypeError of one line, before anything is drawn; on the command line an exit
  status other than 0.
- *{WARNED}*: it runs to its end, and an `auxmc.SamplingWarning` says what is wrong with what it returns; the
  result's `warnings` repeat it.

{chr(10).join(f"{table}{chr(10)}" for table in tables)}"""


def _short(message: str) -> str:
    """The first sentences of a message, as many as fit."""
    text = message.strip()
    if len(text) <= _MOST_SHOWN:
        return text
    end = max(text.rfind(mark, 0, _MOST_SHOWN) for mark in (". ", ": ", "; ", ", "))
    return text[: end if end > 0 else _MOST_SHOWN].rstrip(".:;,") + " ..."


def _cell(text: str) -> str:
    """Text in a cell of a table, where bars and stars would be read as marks."""
    for mark in ("\\", "|", "*", "_", "<", "["):
        text = text.replace(mark, f"\\{mark}")
    return text
