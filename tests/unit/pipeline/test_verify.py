"""`make verify` on synthetic results: what it draws, what it compares, what it concludes."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from auxmc.driver.results import write_result
from auxmc_pipeline.checksums import SUMS, sums_of
from auxmc_pipeline.jobs import job_table, jobs_of_result, read_jobs
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.steps import verify
from auxmc_pipeline.tables import Tables, load_tables, long_rows, tabulate, write_tables
from tests.unit.pipeline.provenance import PROVENANCE

ABOUT = {"study": "radon", "numbers": "n", "code": "c", "data": ""}
SETTINGS = {"seed": 1, "n_chains": 4, "batch": {"step_size": [0.1, 0.2]}}
CASES = [verify.PublishedCase("s", str(i), 30.0, "", "") for i in range(9)]


def write_case(folder, *, seed=1, shift=0.0, seconds=1.0):
    rng = np.random.default_rng(seed)
    statistics = xr.Dataset(
        {
            "mean": (("step_size", "chain"), rng.normal(size=(2, 4)) + shift),
            "log_evidence": -10.0 + 0.1 * rng.normal() + shift,
            "log_evidence_error": 0.1,
            "n_rows": 7.0,
            "fit_time": ((), seconds, {"units": "s"}),
        },
        {"step_size": [0.1, 0.2], "chain": np.arange(4)},
    )
    write_result(folder / "a.nc", {"statistics": statistics}, PROVENANCE | {"settings": SETTINGS})
    return folder / "a.nc"


@pytest.fixture
def published(tmp_path):
    """A published case, next to another one with other dimensions."""
    path = write_case(tmp_path)
    tables = tabulate([path])
    other = pd.DataFrame({"case": ["b"], "step_size": ["x"], "chain": [0], "mean": [1.0]})
    own = tables["step_size_chain"].astype({"step_size": str})
    tables["step_size_chain"] = pd.concat([own, other], ignore_index=True)
    write_tables(tmp_path / "tables", tables)
    return verify.PublishedCase("radon", "a", 10.0, str(jobs_of_result(path)[-1]["sha256"]), "")


def verdict(case, again, folder):
    lines, status = verify.conclusion([case], [verify.compare_case(again, case.sha256, folder)])
    return lines[0], status


@pytest.mark.parametrize(
    ("changed", "again", "status", "text"),
    [
        ("", {"seconds": 9.0}, 0, "identical, arrays and table"),
        ("", {"seed": 2}, 1, "DIFFERS, other arrays on the same processor"),
        ("processor", {"seed": 2}, 0, "agrees, 3 values with other processor"),
        ("processor", {"seed": 2, "shift": 40.0}, 1, "DIFFERS, 3 values with other processor"),
    ],
)
def test_a_case_run_again_agrees_to_the_last_bit_or_within_errors(
    tmp_path, published, changed, again, status, text
):
    path = write_case(tmp_path / "again", **again)
    line, found = verdict(published._replace(changed=changed), path, tmp_path)
    assert f"radon/a: {text}" in line
    assert found == status


def test_one_changed_bit_of_a_published_value_is_found(tmp_path, published):
    tables = dict(load_tables(tmp_path / "tables"))
    moved = np.nextafter(tables["point"]["log_evidence"], 0.0)
    tables["point"] = tables["point"].assign(log_evidence=moved)
    write_tables(tmp_path / "tables", tables)
    line, status = verdict(published, write_case(tmp_path / "again"), tmp_path)
    assert "DIFFERS, table: log_evidence is -9." in line
    assert status == 1


def test_a_case_that_cannot_be_compared_is_open(tmp_path, published):
    elsewhere = published._replace(changed="versions")
    again = write_case(tmp_path / "again", seed=2)
    for made, folder in ((tmp_path / "none.nc", tmp_path), (again, tmp_path / "no table")):
        assert verdict(elsewhere, made, folder) == ("radon/a: open, no result or no table to compare", 2)
    without_errors = pd.DataFrame({"quantity": ["x"], "unit": [""], "value": [1.0]})
    texts = {1.0 + 1e-9: "agrees, all values to six digits", 1.1: "open, no value has an error, and 0%"}
    for value, text in texts.items():
        values = verify.compare_values(without_errors, without_errors.assign(value=value))
        assert text in verify.conclusion([elsewhere], [verify.Comparison(False, values)])[0][0]


def test_missing_and_added_values_are_not_identical(tmp_path):
    rows = long_rows(Tables(tabulate([write_case(tmp_path)])))
    # A table of several cases has the columns in another order.
    assert verify.compare_values(rows[sorted(rows.columns)], rows)["identical"].all()
    for one, two in ((rows.iloc[1:], rows), (rows, rows.iloc[1:])):
        assert (~verify.compare_values(one, two)["identical"]).sum() == 1


def test_few_correct_values_exceed_the_allowed_distance():
    rng = np.random.default_rng(3)
    points = {"chain": np.tile(np.arange(3), 20), "point": np.repeat(np.arange(20), 3)}
    points |= {"quantity": "m", "unit": ""}
    n_rejected = 0
    for _ in range(40):
        kept, again = (pd.DataFrame({**points, "value": rng.normal(size=60)}) for _ in range(2))
        scores = verify.compare_values(kept, again)["score"]
        assert len(scores.dropna()) == 20
        n_rejected += scores.max() > verify.allowed_distance(20)
    # Of 40 runs, 0.04 are expected at a level of 0.001; three have a probability near 1e-5.
    assert n_rejected < 3
    dependent = kept.assign(quantity="psrf_without_chain")
    assert verify.compare_values(dependent, dependent.assign(value=again["value"]))["score"].isna().all()


def test_cases_of_other_settings_are_named_and_changes_noted(tmp_path, monkeypatch):
    here = {**ABOUT, "processor_kind": "here", "versions": "v", "cpu_s": 30.0, "n_cores": 2}
    here["peak_memory_mib"] = 1.0
    rows = [here | {"case": "a"}, here | {"case": "b", "code": "old"}, here | {"case": "e", "numbers": "old"}]
    folder = tmp_path / "paper" / "radon"
    folder.mkdir(parents=True)
    job_table(rows).fillna("").to_csv(folder / "pieces.csv", index=False)
    now = {case: {"numbers": "n", "code": "c", "data": ""} for case in "abe"}
    monkeypatch.setattr(verify, "PUBLISHED", tmp_path)
    monkeypatch.setattr(verify, "identities", lambda study, preset: now)
    monkeypatch.setattr(verify, "processor_kind", lambda: "there")
    monkeypatch.setattr(verify, "version_text", lambda about: "v")
    found, other = verify.published_cases("paper")
    changed = {case.label: case.changed for case in found}
    assert changed == {"radon/a": "processor", "radon/b": "code and processor"}
    assert other == ["radon/e was made with other settings"]


@pytest.mark.parametrize(("budget", "n"), [(100.0, 3), (30.0, 1), (1.0, 1)])
def test_drawn_cases_fit_the_budget_and_are_those_of_the_seed(budget, n):
    assert len(verify.drawn(CASES, budget, 1)) == n
    assert verify.drawn(CASES, budget, 1) == verify.drawn(CASES, budget, 1)
    assert verify.drawn([], budget, 1) == []


def test_named_cases_are_run_and_unknown_names_rejected():
    assert verify.named(CASES, ["s/3"]) == [CASES[3]]
    assert verify.named(CASES, ["s"]) == CASES
    with pytest.raises(SettingsError, match=r"got 's/33'\. Did you mean 's/3'"):
        verify.named(CASES, ["s/33"])


def test_cases_with_identical_arrays_are_recorded_with_the_commit_that_made_them_again(tmp_path):
    place = tmp_path / "s"
    place.mkdir()
    about = {"study": "s", "piece": "", "cpu_s": 1.0, "peak_memory_mib": 1.0, "n_cores": 2}
    rows = [about | {"case": case} for case in "01"]
    # As published before cases were recorded as verified.
    job_table(rows).drop(columns="verified").fillna("").to_csv(place / "pieces.csv", index=False)
    (place / SUMS).write_text(sums_of(place, ["pieces.csv"]))
    verify.record_verified(tmp_path, CASES[1:2], "f" * 40)
    assert read_jobs(place / "pieces.csv")["verified"].to_list() == ["", "f" * 12]
