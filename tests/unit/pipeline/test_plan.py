"""`auxmc plan` and `auxmc show published` on made-up records of jobs."""

import argparse
import math
from pathlib import Path

import pytest

from auxmc.errors import CommandError
from auxmc_pipeline import command_line
from auxmc_pipeline.catalogue import load_study, studies
from auxmc_pipeline.command_line.plan import describe_plan, plan_in_words
from auxmc_pipeline.command_line.show_published import describe_published, made_anew, study_row
from auxmc_pipeline.publishing import costs as costs_module
from auxmc_pipeline.publishing.costs import (
    CaseCost,
    case_costs,
    expected_costs,
    minutes,
    record_costs,
    recorded_jobs,
    schedule,
)
from auxmc_pipeline.publishing.jobs import COLUMNS, as_table
from auxmc_pipeline.settings import PRESETS

JOB = dict.fromkeys(COLUMNS, "") | {"study": "radon", "cpu_s": 30.0, "peak_memory_mib": 1.0, "n_cores": 2}


def job(case: str, piece: str = "", **about: object) -> dict[str, object]:
    return JOB | {
        "case": case,
        "piece": piece,
        "numbers": "n",
        "code": "c",
        "data": "",
        "commit": "d" * 12,
        **about,
    }


def test_jobs_wait_for_cores_and_joins_for_pieces() -> None:
    one = CaseCost("a", "long", [100.0], 0.0, "recorded")
    cut = CaseCost("a", "cut", [40.0, 40.0, 40.0], 10.0, "recorded")
    assert schedule([one, cut], 1) == 230.0
    assert schedule([one, cut], 2) == 130.0
    assert schedule([one, cut], 4) == 100.0
    assert schedule([cut], 64) == 50.0


def test_costs_are_those_recorded_and_what_is_expected_shared_out_like_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs_module, "expected_costs", lambda: {"radon": {"paper": "1.5 min"}})
    study = load_study("radon")
    names = [case.name for case in study.cases("paper")]
    for preset, rows in (
        (
            "paper",
            [
                job(names[0], "1 of 2", cpu_s=50.0),
                job(names[0], "2 of 2", cpu_s=60.0),
                job(names[0], cpu_s=5.0),
            ],
        ),
        ("quick", [job(name, cpu_s=10.0 if name == names[1] else 5.0) for name in names]),
    ):
        (tmp_path / preset / "radon").mkdir(parents=True)
        as_table(rows).to_csv(tmp_path / preset / "radon" / "pieces.csv", index=False)
    costs = {case.case: case for case in case_costs(study, "paper", tmp_path, tmp_path / "costs.csv")}
    assert costs[names[0]].total == 115.0
    assert costs[names[0]].source == "recorded"
    assert costs[names[1]].source == "expected"
    assert costs[names[1]].total == pytest.approx(2.0 * costs[names[2]].total)
    n = len(names)
    assert costs[names[2]].total == pytest.approx(90.0 * 5.0 / (5.0 * (n - 1) + 10.0))


def test_costs_of_jobs_whose_results_are_not_kept_replace_those_of_an_earlier_run(tmp_path: Path) -> None:
    record = tmp_path / "costs.csv"
    record_costs("smoke", as_table([job("nuts", cpu_s=9.0), job("ais", cpu_s=4.0)]), record)
    record_costs("tiny", as_table([job("nuts", cpu_s=1.0)]), record)
    record_costs("smoke", as_table([job("nuts", cpu_s=7.5), job("hmc", "1 of 2", cpu_s=2.0)]), record)
    found = recorded_jobs("radon", "smoke", tmp_path, record)
    assert found[["case", "piece", "cpu_s"]].values.tolist() == [["hmc", "1 of 2", 2.0], ["nuts", "", 7.5]]
    assert found["peak_memory_mib"].tolist() == [1.0, 1.0]
    assert recorded_jobs("radon", "tiny", tmp_path, record)["cpu_s"].tolist() == [1.0]
    assert recorded_jobs("boltzmann", "smoke", tmp_path, record).empty
    assert recorded_jobs("radon", "smoke", tmp_path, tmp_path / "other.csv").empty


def test_a_plan_says_the_longest_job_the_path_and_where_costs_are_from() -> None:
    text = plan_in_words(
        "paper",
        2,
        {
            "radon": [CaseCost("radon", "nuts", [1800.0, 1800.0], 60.0, "recorded")],
            "foundations": [CaseCost("foundations", "chains", [1700.0], 0.0, "expected")],
        },
    )
    lines = text.splitlines()
    assert lines[1].split() == [
        "radon",
        "3",
        "1.02",
        "30.0",
        "min",
        "recorded",
        "for",
        "1",
        "of",
        "1",
        "cases",
    ]
    assert (
        "Longest job: radon nuts, one of 2 pieces, 30.0 min.\nLongest path: radon nuts, 31.0 min.\n" in text
    )
    assert "on 2 cores: 58.3 min" in text
    assert "Of 1 cases none is recorded" in text


def test_a_plan_of_nothing_is_refused_in_a_line() -> None:
    with pytest.raises(CommandError, match="leaves out all studies"):
        describe_plan("paper", 2, studies())
    unknown = CaseCost("radon", "nuts", [math.nan], 0.0, "expected")
    with pytest.raises(CommandError, match="no cost of radon at preset paper is known"):
        plan_in_words("paper", 2, {"radon": [unknown]})


def test_costs_are_expected_of_what_is_not_on_record_alone() -> None:
    for study, row in expected_costs().items():
        for preset, text in row.items():
            assert preset in PRESETS
            assert minutes(text) > 0.0
            n_recorded = recorded_jobs(study, preset)["case"].nunique()
            assert n_recorded < len(load_study(study).cases(preset)), f"{study} at {preset} is on record"


def test_what_is_kept_is_shown_by_study_with_what_would_be_made_anew() -> None:
    now = {case: {"numbers": "n", "code": "c", "data": ""} for case in ("a", "b", "e")}
    jobs = as_table(
        [
            job("a", "1 of 2"),
            job("a", "2 of 2", code="old"),
            job("a"),
            job("b", numbers="old", code="old"),
            job("gone"),
        ]
    )
    assert made_anew("radon", jobs, now) == [
        "radon, other code: a (piece 2 of 2)",
        "radon, other settings and code: b",
        "radon, case gone: gone",
        "radon, not kept: e",
    ]
    row = study_row("radon", jobs, now, has_tables=False)
    assert row[:5] == ("radon", "3 of 3", "no", "0.04", "ddddddd")


def test_nothing_kept_says_what_keeps_it(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="make publish PRESET=paper"):
        describe_published("paper", tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "published", "papers"], "Did you mean 'paper'"),
        (["plan", "--preset", "papers"], "Did you mean 'paper'"),
        (["plan", "--without", "radom"], "Did you mean 'radon'"),
        (["plan", "--cores", "0"], "at least 1"),
    ],
)
def test_wrong_words_are_refused_in_a_line(words: list[str], message: str) -> None:
    parser = argparse.ArgumentParser(prog="auxmc")
    command_line.register(parser.add_subparsers(required=True))
    options = parser.parse_args(words)
    with pytest.raises(CommandError, match=message):
        options.run(options)
