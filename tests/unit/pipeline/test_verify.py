"""`make verify` on made-up results: what it draws, what it compares, what it says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from auxmc.driver.results import write_result, write_table
from auxmc_pipeline.publishing.agreement import allowed_distance, distances, unequal
from auxmc_pipeline.publishing.check import Check, Drawn, check, drawn_at_random, jobs_to_draw
from auxmc_pipeline.publishing.jobs import COLUMNS, as_table, jobs_of_result
from auxmc_pipeline.steps.verify import conclusion
from auxmc_pipeline.tidy import tidy_table

JOB = dict.fromkeys(COLUMNS, "") | {
    "study": "radon",
    "numbers": "n",
    "code": "c",
    "processor_kind": "here",
    "versions": "v",
    "sha256": "s",
    "cpu_s": 30.0,
    "peak_memory_mib": 1.0,
    "n_cores": 2,
}
NOW = {case: {"numbers": "n", "code": "c", "data": ""} for case in ("a", "b", "e")}
PROVENANCE = {
    "study": "radon",
    "settings": {"preset": "quick", "seed": 1, "n_chains": 4, "batch": {"step_size": [0.1, 0.2]}},
    "numbers": "n",
    "code": "c",
    "data": "",
    "git_commit": "d" * 40,
    "created": "2026-11-22",
    "cpu_s": 10.0,
    "peak_memory_mib": 500.0,
    "processor": "p",
    "n_cores": 2,
    "python": "3.11.7",
}


def result(folder: Path, *, seed: int = 1, shift: float = 0.0, seconds: float = 1.0) -> Path:
    rng = np.random.default_rng(seed)
    by_chain = rng.normal(size=(2, 4)) + shift
    statistics = xr.Dataset(
        {
            "mean": (("step_size", "chain"), by_chain),
            "log_evidence": ((), -10.0 + 0.1 * rng.normal() + shift),
            "log_evidence_error": 0.1,
            "n_rows": 7.0,
            "fit_time": ((), seconds, {"units": "s"}),
        },
        {"step_size": [0.1, 0.2], "chain": np.arange(4)},
    )
    write_result(folder / "a.nc", {"statistics": statistics}, PROVENANCE)
    return folder / "a.nc"


def result_of_times(folder: Path) -> Path:
    statistics = xr.Dataset({"fit_time": ((), 1.0, {"units": "s"})})
    write_result(folder / "a.nc", {"statistics": statistics}, PROVENANCE)
    return folder / "a.nc"


def publish(path: Path, folder: Path) -> Drawn:
    """Keeps statistics of a result, beside those of another case with dimensions of its own."""
    rows = tidy_table([path], "statistics")
    other = pd.DataFrame({"case": ["b"], "joint": ["left"], "quantity": ["x"], "unit": [""], "value": [1.0]})
    table = pd.concat([rows, other], ignore_index=True)
    write_table(folder / "summary.parquet", table)
    digest = str(jobs_of_result(path)[-1]["sha256"])
    return Drawn("radon", "a", "", 10.0, digest, same_machine=True, same_code=True)


def test_the_same_arrays_are_identical_whatever_time_they_took(tmp_path: Path) -> None:
    job = publish(result(tmp_path), tmp_path)
    found = check(job, result(tmp_path / "again", seconds=9.0), tmp_path)
    assert found == Check(job, True, [], [])
    lines, status = conclusion("quick", [found])
    assert (lines[-1], status) == (
        "All 1 jobs of preset quick, run again here, gave what is published: 1 to the last bit.",
        0,
    )


def test_a_corrupted_kept_value_is_noticed(tmp_path: Path) -> None:
    job = publish(result(tmp_path), tmp_path)
    table = pd.read_parquet(tmp_path / "summary.parquet")
    place = table.index[table["quantity"] == "log_evidence"][0]
    table.loc[place, "value"] = np.nextafter(table.loc[place, "value"], 0.0)
    write_table(tmp_path / "summary.parquet", table)
    found = check(job, result(tmp_path / "again"), tmp_path)
    assert (
        "summary.parquet does not hold what the job gives: 1 values differ, as log_evidence"
        in found.faults[0]
    )
    lines, status = conclusion("quick", [found])
    assert (lines[-1], status) == ("1 of 1 jobs of preset quick did not give what is published.", 1)


def test_other_bits_on_the_same_machine_are_a_fault_and_elsewhere_are_compared(tmp_path: Path) -> None:
    job = publish(result(tmp_path), tmp_path)
    again = result(tmp_path / "again", seed=2)
    found = check(job, again, tmp_path)
    assert "though processor and versions are" in found.faults[0]
    elsewhere = check(job._replace(same_machine=False), again, tmp_path)
    assert elsewhere.faults == []
    assert {distance.name.split()[0] for distance in elsewhere.distances} == {"mean", "log_evidence"}
    assert len(elsewhere.distances) == 3
    lines, status = conclusion("quick", [elsewhere])
    assert status == 0, lines
    assert "0 to the last bit, 1 within errors (3 values" in lines[-1]


def test_a_value_out_of_its_errors_is_a_fault(tmp_path: Path) -> None:
    job = publish(result(tmp_path), tmp_path)._replace(same_machine=False)
    found = check(job, result(tmp_path / "again", seed=2, shift=40.0), tmp_path)
    lines, status = conclusion("quick", [found])
    assert status == 1
    assert "values are off by more than 4.0 standard errors, most log_evidence: " in "\n".join(lines)


def test_what_has_no_errors_agrees_to_rounding_or_stays_open(tmp_path: Path) -> None:
    job = Drawn("radon", "a", "", 1.0, "", same_machine=False, same_code=True)
    within = conclusion("quick", [Check(job, False, [], [], 1.0)])
    assert within[1] == 0
    assert "to rounding" in within[0][-1]
    left = conclusion("quick", [Check(job, False, [], [], 0.9)])
    assert (left[0][-1], left[1]) == ("None of the 1 jobs of preset quick could be judged here.", 2)
    both = conclusion("quick", [Check(job, False, [], [], 0.9), Check(job, True, [], [])])
    assert both[1] == 0
    assert both[0][-1].startswith(
        "1 of 2 jobs of preset quick, run again here, gave what is published: 1 to the last bit, 1 that"
    )


def test_where_nothing_is_compared_nothing_agrees(tmp_path: Path) -> None:
    job = publish(result(tmp_path), tmp_path)._replace(same_machine=False)
    again = result(tmp_path / "again", seed=2)
    for kept in (tmp_path / "no such folder", tmp_path):
        if kept == tmp_path:  # a table without a value of the case
            table = pd.read_parquet(tmp_path / "summary.parquet")
            write_table(tmp_path / "summary.parquet", table[table["case"] == "b"])
            again = result_of_times(tmp_path / "times")
        lines, status = conclusion("quick", [check(job, again, kept)])
        assert (lines[-1], status) == ("None of the 1 jobs of preset quick could be judged here.", 2)
        assert "nothing of it is kept that could be compared" in lines[1]


def test_values_without_one_chain_each_are_no_replicates() -> None:
    table = pd.DataFrame(
        {"chain": [0, 1, 2], "quantity": "psrf_without_chain", "unit": "", "value": [1.0, 1.1, 1.2]}
    )
    assert distances(table, table.assign(value=[3.0, 3.1, 3.2])) == []


def test_a_job_without_result_is_a_fault(tmp_path: Path) -> None:
    job = publish(result(tmp_path), tmp_path)
    assert conclusion("quick", [check(job, tmp_path / "none.nc", tmp_path)])[1] == 1


def test_few_right_values_exceed_what_is_allowed() -> None:
    rng = np.random.default_rng(3)
    n_rejected = 0
    for _ in range(200):
        tables = [
            pd.DataFrame(
                {
                    "chain": np.tile(np.arange(3), 20),
                    "point": np.repeat(np.arange(20), 3),
                    "quantity": "mean",
                    "unit": "",
                    "value": rng.normal(size=60),
                }
            )
            for _ in range(2)
        ]
        found = distances(*tables)
        assert len(found) == 20
        n_rejected += found[0].score > allowed_distance(20)
    # Of 200 runs, 0.2 are expected at a level of 0.001; five have a chance below 1e-5.
    assert n_rejected < 5


def test_missing_and_added_values_are_unequal(tmp_path: Path) -> None:
    rows = tidy_table([result(tmp_path)], "statistics")
    assert unequal(rows, rows) == []
    # A table of several cases has the columns in the order in which they came.
    assert unequal(rows[sorted(rows.columns)], rows[sorted(rows.columns, reverse=True)]) == []
    assert len(unequal(rows.iloc[1:], rows)) == 1
    assert len(unequal(rows, rows.iloc[1:])) == 1


def test_pieces_are_drawn_where_bits_can_be_compared_and_cases_elsewhere() -> None:
    rows = [
        {**JOB, "case": "a", "piece": "1 of 2"},
        {**JOB, "case": "a", "piece": "2 of 2"},
        {**JOB, "case": "a", "cpu_s": 5.0},
        {**JOB, "case": "b", "code": "old"},
        {**JOB, "case": "e", "numbers": "old"},
        {**JOB, "case": "gone"},
    ]
    here, other = jobs_to_draw(as_table(rows), NOW, "here", "v")
    assert [(job.label, job.cost_s, job.same_code) for job in here] == [
        ("radon a, piece 1 of 2", 30.0, True),
        ("radon a, piece 2 of 2", 30.0, True),
        ("radon b", 30.0, False),
    ]
    assert str(here[1].file("paper")) == "results/paper/radon/pieces/a/2-of-2.npz"
    assert other == ["radon e: other settings", "radon gone: other case gone"]
    elsewhere, _ = jobs_to_draw(as_table(rows), NOW, "there", "v")
    assert [(job.label, job.cost_s) for job in elsewhere] == [("radon a", 65.0), ("radon b", 30.0)]
    assert str(elsewhere[0].file("paper")) == "results/paper/radon/a.nc"


@pytest.mark.parametrize(("budget", "n"), [(100.0, 3), (30.0, 1), (1.0, 1)])
def test_drawn_jobs_fit_the_budget_and_are_those_of_the_seed(budget: float, n: int) -> None:
    jobs = [Drawn("s", str(i), "", 30.0, "", same_machine=True, same_code=True) for i in range(9)]
    drawn = drawn_at_random(jobs, budget, np.random.default_rng(1))
    assert len(drawn) == n
    assert drawn == drawn_at_random(jobs, budget, np.random.default_rng(1))
    assert drawn_at_random([], budget, np.random.default_rng(1)) == []
