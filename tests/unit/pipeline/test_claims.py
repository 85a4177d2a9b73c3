"""A file of claims is read whole or rejected with its line; verdicts follow from value, error, band and needs alone."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from auxmc_pipeline.claims import read_claims
from auxmc_pipeline.judging.counts import counts_by_document, counts_of, verdict_of_claim
from auxmc_pipeline.judging.verdicts import FIGURE_ONLY, judge, verdict
from auxmc_pipeline.measuring import Measurement, exact, mean
from auxmc_pipeline.needs import cases_needed, parse_needs
from auxmc_pipeline.steps.check_claims import responses
from auxmc_pipeline.steps.wrong_verdicts import simulate
from auxmc_pipeline.tables import MissingData, Tables, recorded

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

NAN = float("nan")
SETTINGS = ["n_draws", "n_chains"]
LINE = GIVEN["line"]
TAIL = 0.02275013194817921  # of a standard normal distribution beyond 2


@pytest.mark.parametrize(("value", "error", "low", "high", "kind", "expected"), GIVEN["verdicts"])
def test_verdict(value, error, low, high, kind, expected):
    assert verdict(Measurement(value, error), low, high, kind) == expected


def test_an_exact_value_decides_at_the_very_edge():
    assert verdict(exact(1.5), 0.5, 1.5, "I") == "reproduced"
    assert verdict(exact(1.6), 0.5, 1.5, "I") == "not reproduced"


def _claims(tmp_path, *lines):
    pd.DataFrame([LINE | line for line in lines or ({},)]).to_csv(tmp_path / "c.csv", index=False)
    return read_claims(tmp_path / "c.csv", SETTINGS, ["thesis", "paper"])


@pytest.mark.parametrize(
    ("line", "column", "value"),
    [
        ({}, "nature", "conclusion"),
        ({"nature": "printed"}, "nature", "printed"),
        ({"origin": "own", "document": ""}, "document", ""),
    ],
)
def test_a_claim_is_a_conclusion_by_default_and_our_own_needs_no_document(tmp_path, line, column, value):
    assert _claims(tmp_path, line)[column].tolist() == [value]


@pytest.mark.parametrize(("line", "message"), GIVEN["wrong_lines"])
def test_a_wrong_line_is_rejected_with_what_is_allowed(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        _claims(tmp_path, line)


def test_a_missing_column_and_a_line_twice_are_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"line 3 \(X-1, N=1\): stands in line 2 already"):
        _claims(tmp_path, {}, {})
    pd.DataFrame([LINE]).drop(columns="needs").to_csv(tmp_path / "c.csv", index=False)
    with pytest.raises(ValueError, match="column 'needs' is missing"):
        read_claims(tmp_path / "c.csv", SETTINGS, ["thesis"])


def _tables(**settings):
    cases = {"case": ["main_1", "side"]}
    points = pd.DataFrame(cases | {"mean": [1.0, 1.0]})
    return Tables({"point": points, "settings": pd.DataFrame(cases | settings)})


def _of_main(tables):
    return Measurement(tables.value("mean", case="main_1"), 0.1)


def _missing(tables):
    raise MissingData("needs the case nuts")


@pytest.mark.parametrize(
    ("needs", "measure", "note"),
    [
        ("", _of_main, ""),
        ("main*:n_draws>=600", _of_main, ""),
        ("main*:n_draws>=10000 n_chains>=4", _of_main, "needs n_draws >= 10000, this run had 600"),
        ("long*:n_draws>=5", _of_main, "no case long* with the setting n_draws"),
        ("", _missing, "needs the case nuts"),
    ],
)
def test_a_claim_is_measured_where_its_needs_are_met_and_says_why_not(tmp_path, needs, measure, note):
    tables = _tables(n_draws=[600, 10], n_chains=[4, 4])
    judged = judge(_claims(tmp_path, {"needs": needs}), {"X-1": {"N=1": measure}}, tables)
    expected = ["not measured" if note else "reproduced", note]
    assert judged[["verdict", "note"]].to_numpy().tolist() == [expected]


def test_needs_can_name_the_case_and_a_word():
    settings = pd.DataFrame({"case": ["main_1", "side"], "n_draws": [600, 10], "design": ["long", "short"]})
    text = "main*:n_draws>=600 main*:design=long other*: design=long"
    *met, wrong = parse_needs(text, ["n_draws", "design"])
    assert [need.unmet(settings) for need in met] == ["", "", ""]
    assert wrong.unmet(settings) == "needs design = long, this run had short"
    # A line that names no case needs all.
    assert cases_needed(["main:", "n_draws>=5"], ["main", "side"]) == ["main", "side"]


def test_claims_and_functions_must_match(tmp_path):
    for measures in ({}, {"X-1": {}}):
        with pytest.raises(ValueError, match="X-1, N=1: no function measures this line"):
            judge(_claims(tmp_path), measures, _tables())
    none = lambda _: Measurement(1.0, 0.1)
    with pytest.raises(ValueError, match="X-1, N=2: no line for this function; X-2, a: no line"):
        judge(_claims(tmp_path), {"X-1": {"N=1": none, "N=2": none}, "X-2": {"a": none}}, _tables())


def test_a_recorded_value_without_an_error_is_not_exact_unless_declared():
    tables = Tables({"point": pd.DataFrame({"case": ["c"], "mean": [2.0], "spread": [0.5]})})
    assert recorded("mean", "spread")(tables)[:2] == (2.0, 0.5)
    assert math.isnan(recorded("mean")(tables).error)
    assert recorded("mean", exact=True)(tables) == exact(2.0)


def _judged(*lines):
    """Lines of (claim, document, origin, verdict, distance from the edge 0 in standard errors)."""
    table = pd.DataFrame(lines, columns=["claim_id", "document", "origin", "verdict", "measured"])
    common = {"monte_carlo_error": 1.0, "exact": False, "low": 0.0, "high": NAN}
    return table.assign(also="", nature="conclusion", **common)


def _of_one(*lines):
    """Lines of one claim, each (verdict, distance from the edge in standard errors)."""
    return _judged(*(("A", "t", "published", *line) for line in lines))


def test_the_worst_line_counts_and_an_id_counts_once_in_each_document():
    judged = _judged(
        ("A", "thesis", "published", "reproduced", 3.0),
        ("A", "thesis", "published", "inconclusive", 1.0),
        ("A", "paper", "published", "reproduced", 3.0),
        ("B", "thesis", "published", "timing", 1.0),
        ("B", "thesis", "own", "reproduced", 3.0),
    )
    found = counts_by_document(judged)
    counts = {name: n for name, n in found["thesis"].verdicts.items() if n}
    assert counts == {"inconclusive": 1, "timing": 1}
    assert (found["thesis"].n_claims, found["thesis"].n_lines) == (2, 3)
    assert (found["paper"].n_claims, found["paper"].verdicts["reproduced"]) == (1, 1)
    # The inconclusive line stands in the paper too.
    judged.loc[1, "also"] = "paper: sec 2"
    assert counts_by_document(judged)["paper"].verdicts["inconclusive"] == 1


def test_of_several_readings_the_best_counts_and_of_all_else_the_worst():
    judged = _of_one(("not reproduced", -9.0), ("inconclusive", 1.0), ("reproduced", 9.0), ("timing", 1.0))

    def found(*natures):
        return verdict_of_claim(judged.assign(nature=natures))

    assert found("reading: a", "reading: b", "conclusion", "conclusion") == "inconclusive"
    assert found("reading: a", "conclusion", "reading: b", "conclusion") == "inconclusive"
    assert found("conclusion", "reading: a", "reading: b", "conclusion") == "not reproduced"
    # Lines of one reading stand or fall together.
    assert found("reading: a", "reading: b", "reading: a", "conclusion") == "inconclusive"
    assert found("reading: a", "reading: a", "reading: b", "conclusion") == "reproduced"


def test_words_that_their_own_figure_contradicts_have_a_verdict_of_their_own():
    judged = _of_one(("not reproduced", -2.0), ("inconclusive", 1.0), ("reproduced", 2.0))
    found = judged.assign(nature=["words", "words", "figure"])
    assert verdict_of_claim(found) == FIGURE_ONLY
    assert counts_of(found).verdicts[FIGURE_ONLY] == 1
    assert counts_of(found).expected_wrong == pytest.approx(1.0 - (1.0 - TAIL) ** 2)
    # While the figure is open, so is the claim.
    assert verdict_of_claim(found.assign(verdict=["not reproduced"] * 2 + ["inconclusive"])) == "inconclusive"
    # The figure must be reproduced, and the words must fail.
    assert verdict_of_claim(found.assign(verdict="not reproduced")) == "not reproduced"
    assert verdict_of_claim(found.assign(verdict=["inconclusive"] * 2 + ["reproduced"])) == "inconclusive"
    assert verdict_of_claim(judged.assign(nature=["words", "conclusion", "figure"])) == "inconclusive"


def test_a_claim_that_fails_only_as_printed_is_a_misprint():
    judged = _of_one(("not reproduced", -9.0), ("reproduced", 9.0))
    assert counts_of(judged).n_misprints == 0
    assert counts_of(judged.assign(nature=["printed", "conclusion"])).n_misprints == 1


def test_verdicts_expected_to_be_wrong_are_tails_of_a_normal_distribution():
    one = _of_one(("reproduced", 2.0))
    assert counts_of(one).expected_wrong == pytest.approx(TAIL)
    assert counts_of(pd.concat([one, one])).expected_wrong == pytest.approx(1.0 - (1.0 - TAIL) ** 2)
    # What fails twice is as sure as its surest line; what is undecided is no verdict that could be wrong.
    assert counts_of(_of_one(("not reproduced", -2.0), ("not reproduced", -9.0))).expected_wrong < 1e-15
    assert counts_of(_of_one(("inconclusive", 1.0))).expected_wrong == 0.0
    assert counts_of(one.assign(exact=True)).expected_wrong == 0.0


VALUES = [10.0, 10.1, 9.9, 10.0, 5.0, 5.1, 4.9, 5.0]
TABLES = Tables(
    {
        "chain": pd.DataFrame({"case": ["a"] * 4 + ["b"] * 4, "ess": VALUES}),
        "settings": pd.DataFrame({"case": ["a", "b"], "n_draws": 100.0}),
        "quantity": pd.DataFrame({"quantity": ["ess"], "table": ["chain"]}),
    }
)


def _mean(tables, case="a"):
    return mean(tables.values("ess", case=case))


def _favourable(tables):
    found = _mean(tables)
    if found.value < 9.0:
        raise MissingData("the chains are too short")
    return found


@pytest.mark.parametrize(
    ("measure", "low", "verdict", "can_fail"),
    [
        (_mean, 9.0, "reproduced", True),
        (_mean, 20.0, "not reproduced", True),
        (lambda t: _mean(t) / _mean(t, "b"), 1.5, "reproduced", True),  # scales cancel: one group must change
        (lambda t: Measurement(t.setting("n_draws") / 5.0, 0.1), 9.0, "reproduced", False),
        (lambda t: Measurement(max(_mean(t).value, 10.0), 0.1), 9.0, "reproduced", False),
        (_favourable, 8.0, "reproduced", False),
        (_mean, -1e300, "reproduced", False),
    ],
    ids=["mean", "failing", "ratio", "settings", "clipped", "unfavourable dropped", "band of everything"],
)
def test_a_claim_that_no_change_turns_cannot_fail(measure, low, verdict, can_fail):
    (found,) = _responses(measure, low)
    assert (found.verdict, bool(found.changed_by)) == (verdict, can_fail)


@pytest.mark.parametrize(
    ("measure", "kind"),
    [(lambda _: exact(10.0), "I"), (lambda _: Measurement(1.0, NAN), "I"), (_mean, "W"), (_missing, "I")],
    ids=["exact", "unknown error", "time", "missing"],
)
def test_what_has_no_verdict_to_turn_is_left_out(measure, kind):
    assert _responses(measure, 9.0, kind) == []


def _responses(measure, low, kind="I"):
    line = {"claim_id": "X-1", "setting": "s", "low": low, "high": float("inf"), "kind": kind}
    return list(responses(pd.DataFrame([line]), {"X-1": {"s": measure}}, TABLES))


@pytest.mark.slow
def test_simulated_verdicts_are_wrong_no_more_often_than_expected():
    judged = _judged(*((f"A{n}", "t", "published", "reproduced", 0.25 * n) for n in range(1, 13)))
    found = simulate(judged.assign(kind="I"), 200, np.random.default_rng(1))
    assert 0.0 < found.wrong < 0.023 * found.decided + 2.0 * found.error
    assert 0.0 < found.expected < 0.023 * found.decided
    # Larger errors leave more claims open.
    noisier = judged.assign(kind="I", monte_carlo_error=4.0)
    assert simulate(noisier, 200, np.random.default_rng(1)).decided < found.decided
    with pytest.raises(ValueError, match="nothing to draw"):
        simulate(judged.assign(kind="I", exact=True), 10, np.random.default_rng(1))
