"""Tables for papers: what stands in them, and that LaTeX can read it."""

import math

import pandas as pd

from auxmc_pipeline.steps.export_tables import claims_table, latex, verdicts_table

_COLUMNS = [
    "claim_id", "setting", "statement", "document", "place", "published", "low", "high", "band_from", "nature",
    "origin", "measured", "monte_carlo_error", "exact", "verdict",
]  # fmt: skip
JUDGED = pd.DataFrame(
    [
        (
            "A-1", "N = 1", "A & B at 5 % of x_1", "phd-thesis", "sec 1", "3.6", 3.4, 3.8, "theory", "conclusion",
            "published", 3.61, 0.02, False, "reproduced",
        ),
        (
            "A-2", "ε > 2", "Nothing # measured", "", "", "", math.nan, 1.0, "theory", "conclusion",
            "own", math.nan, math.nan, False, "inconclusive",
        ),
    ],
    columns=_COLUMNS,
)  # fmt: skip


def test_claims_stand_side_by_side() -> None:
    first, second = claims_table(JUDGED).to_dict("records")
    assert (first["published"], first["measured"], first["agrees within"]) == (
        "3.6",
        "3.610 ± 0.020",
        "3.4 to 3.8",
    )
    assert (second["published"], second["measured"], second["agrees within"]) == ("–", "–", "at most 1")
    assert first["statement"] == "A & B at 5 % of x_1 (N = 1)"


def test_latex_escapes_what_it_would_obey() -> None:
    text = latex(
        claims_table(JUDGED).drop(columns=["document", "agrees within", "band from"]),
        "A caption.",
        "tab:a",
        "llllll",
    )
    assert r"A \& B at 5 \% of x\_1 (N = 1)" in text
    assert r"Nothing \# measured ($\epsilon$ $>$ 2)" in text
    assert r"3.610 $\pm$ 0.020" in text
    body = text[text.index(r"\endfoot") :]
    assert [line.count(" & ") for line in body.splitlines() if line.endswith(r"\\")] == [5, 5]
    assert text.isascii()


def test_verdicts_are_counted_by_document() -> None:
    table = verdicts_table({"radon": JUDGED})
    rows = table.set_index("document")[["reproduced", "inconclusive", "all"]]
    assert list(rows.loc["PhD thesis"]) == [1, 0, 1]
