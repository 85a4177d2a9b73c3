"""`auxmc plan` and `auxmc show published` on synthetic records of jobs."""

import argparse
from pathlib import Path

import pytest

from auxmc.errors import CommandError
from auxmc_pipeline import command_line
from auxmc_pipeline.command_line.plan import describe_plan, format_plan
from auxmc_pipeline.command_line.show_published import describe_published, stale_jobs, study_row
from auxmc_pipeline.jobs import COLUMNS, by_case, job_table, record_costs, recorded_jobs

JOB = dict.fromkeys(COLUMNS, "") | {"study": "radon", "cpu_s": 30.0, "peak_memory_mib": 1.0, "n_cores": 2}


def job(case: str, piece: str = "", **about: object) -> dict[str, object]:
    own = {"case": case, "piece": piece, "numbers": "n", "code": "c", "commit": "d" * 12}
    return {**JOB, **own, **about}


def test_costs_of_a_preset_replace_those_of_an_earlier_run(tmp_path: Path) -> None:
    costs = tmp_path / "costs.csv"
    record_costs("smoke", job_table([job("nuts", cpu_s=9.0), job("ais", cpu_s=4.0)]), costs)
    record_costs("tiny", job_table([job("nuts", cpu_s=1.0)]), costs)
    record_costs("smoke", job_table([job("nuts", cpu_s=7.5), job("hmc", "1 of 2", cpu_s=2.0)]), costs)
    found = recorded_jobs("radon", "smoke", tmp_path, costs)
    assert found[["case", "piece", "cpu_s"]].values.tolist() == [["hmc", "1 of 2", 2.0], ["nuts", "", 7.5]]
    assert recorded_jobs("radon", "tiny", tmp_path, costs)["cpu_s"].tolist() == [1.0]
    assert recorded_jobs("boltzmann", "smoke", tmp_path, costs).empty
    assert recorded_jobs("radon", "smoke", tmp_path, tmp_path / "other.csv").empty


def test_a_plan_states_core_hours_the_longest_job_and_the_run_time() -> None:
    jobs = {
        "radon": job_table([job("nuts", "1 of 2", cpu_s=1800.0), job("nuts", "2 of 2", cpu_s=1800.0)]),
        "foundations": job_table([job("chains", study="foundations", cpu_s=1700.0)]),
    }
    text = format_plan("paper", 2, jobs, ["boltzmann"])
    assert text.splitlines()[1].split() == ["radon", "2", "1.00", "30.0", "min"]
    assert "Longest job: radon nuts 1 of 2\nPreset paper on 2 cores: at least 44.2 min.\n" in text
    assert "at least 30.0 min" in format_plan("paper", 64, jobs, [])
    assert text.endswith("Not recorded: boltzmann.")
    assert "Preset paper on 64 cores" in describe_plan("paper", 64, [])


def test_published_results_are_shown_with_what_would_run_again(tmp_path: Path) -> None:
    now = {case: {"numbers": "n", "code": "c", "data": ""} for case in ("a", "b", "e")}
    rows = [job("a", "1 of 2"), job("a"), job("b", numbers="old", code="old"), job("gone")]
    jobs = by_case(job_table(rows))
    assert stale_jobs("radon", jobs, now) == [
        "radon, other settings and code: b",
        "radon, other case, which is gone: gone",
        "radon, not published: e",
    ]
    row = study_row("radon", jobs, now, has_tables=False)
    assert row[:5] == ("radon", "3 of 3", "no", "0.03", "ddddddd")
    with pytest.raises(CommandError, match=r"steps\.publish paper"):
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
def test_wrong_words_are_rejected_in_a_line(words: list[str], message: str) -> None:
    parser = argparse.ArgumentParser(prog="auxmc")
    command_line.register(parser.add_subparsers(required=True))
    options = parser.parse_args(words)
    with pytest.raises(CommandError, match=message):
        options.run(options)
