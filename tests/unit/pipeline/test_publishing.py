"""Publishing and restoring: which files go to `published/`, which stay, and that a preset resumes from them."""

import dataclasses
import io
import os

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from auxmc.driver.results import read_attributes, read_result, write_result
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.checksums import SUMS
from auxmc_pipeline.digests import array_digest
from auxmc_pipeline.jobs import PUBLISHED, by_case, differences, job_table, jobs_of_result, read_jobs
from auxmc_pipeline.judging.study_tables import judge_study
from auxmc_pipeline.settings import SettingsError, names_of
from auxmc_pipeline.steps import restore as restoring
from auxmc_pipeline.steps.publish import gather, write_study
from auxmc_pipeline.steps.restore import restore_case
from auxmc_pipeline.tables import Tables, load_tables, tabulate, write_tables
from tests.unit.pipeline.provenance import PROVENANCE

STUDY = load_study("gp_probit")
NOW = {case: {"numbers": f"n-{case}", "code": "c1", "data": ""} for case in ("ais", "nuts")}
TABLES = {f"tables/{name}.parquet" for name in ("chain", "draw", "point", "settings", "quantity")}
TABLES |= {"claims.csv", "numbers.csv", "pieces.csv"}


def write_case(path, *, shift=0.0, seconds=1.0, **about):
    """Writes a synthetic result of study gp_probit."""
    draws = np.random.default_rng(3).normal(size=(4, 50)) + shift
    groups = {
        "posterior": xr.Dataset({"z": (("chain", "draw"), draws)}),
        "statistics": xr.Dataset({"mean": ("chain", draws.mean(1)), "fit": ((), seconds, {"units": "s"})}),
        "curves": xr.Dataset({"trace": ("draw", draws[0])}),
    }
    own = NOW.get(path.stem, NOW["ais"])
    attributes = PROVENANCE | {"study": "gp_probit", "settings": {"seed": 1, "batch": {}}} | own | about
    write_result(path, groups, attributes)


@pytest.fixture
def root(tmp_path):
    """A folder with results of both cases at preset paper, and their tables, claims and figures."""
    folder = tmp_path / "results" / "paper" / "gp_probit"
    paths = [folder / f"{case}.nc" for case in NOW]
    for path in paths:
        write_case(path)
    write_tables(folder / "tables", tabulate(paths))
    columns = "claim_id,setting,kind,document,quantity,low,high,measured,monte_carlo_error,exact,note,verdict"
    (folder / "claims.csv").write_text(f"{columns}\nA1,x,M,phd,q,0,1,0.5,0.1,False,,reproduced\n")
    (folder / "numbers.csv").write_text("name,value,error,note,exact\n")
    for figure in STUDY.figures:
        path = tmp_path / "paper_figures" / "paper" / "gp_probit" / f"{figure}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<svg/>")
    return tmp_path


def publish(root, now=NOW, preset="paper"):
    """Number of files written, and the published files; their checksums are listed."""
    place = root / "published" / preset / "gp_probit"
    n_written = write_study(place, gather(STUDY, preset, now, root, root / "published")[0])
    files = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    listed = {line.split("  ")[1] for line in (place / SUMS).read_text().splitlines()}
    assert listed == files - {SUMS}
    return n_written, listed


def test_a_finished_study_is_published_whole_and_only_once(root):
    place, results = root / "published" / "paper" / "gp_probit", root / "results" / "paper" / "gp_probit"
    (place / "cases").mkdir(parents=True)
    (place / "cases" / "gone.nc.gz").touch()
    n_written, files = publish(root)
    assert files == TABLES | {f"figures/{name}.svg" for name in STUDY.figures}
    assert n_written == len(files)
    tables = [pd.read_parquet(folder / "tables" / "chain.parquet") for folder in (place, results)]
    pd.testing.assert_frame_equal(*tables)
    header, *lines = (place / "claims.csv").read_text().splitlines()
    assert header == "claim_id,setting,low,high,measured,monte_carlo_error,exact,note"
    assert lines == ["A1,x,0,1,0.5,0.1,False,"]
    jobs = read_jobs(place / "pieces.csv")
    assert jobs["case"].tolist() == ["ais", "nuts"]
    assert set(jobs["versions"]) == {"python 3.11.7, jax 0.10.2, jaxlib ?, numpy ?, scipy ?"}
    assert publish(root) == (0, files)
    (root / "results" / "paper").rename(root / "results" / "quick")
    assert publish(root, preset="quick")[1] == TABLES - {"tables/draw.parquet"}


@pytest.mark.parametrize("left_out", ["without_draws", "by_chain"])
def test_a_study_names_cases_that_are_published_in_part(root, left_out):
    files, _ = gather(dataclasses.replace(STUDY, **{left_out: ("nu*",)}), "paper", NOW, root)
    draws, chains = (
        pd.read_parquet(io.BytesIO(files[f"tables/{name}.parquet"])) for name in ("draw", "chain")
    )
    assert set(draws["case"]) == {"ais"}
    assert set(chains["case"]) == {"ais", "nuts"}


def test_what_is_missing_or_old_is_named_and_nothing_is_published(root):
    results = root / "results" / "paper" / "gp_probit"
    (root / "paper_figures" / "paper" / "gp_probit" / "fig_3_11a.svg").unlink()
    os.utime(results / "tables" / "chain.parquet", (1.0, 1.0))
    now = {**NOW, "nuts": {**NOW["nuts"], "code": "c2"}, "hmc": NOW["nuts"]}
    with pytest.raises(SettingsError) as caught:
        gather(STUDY, "paper", now, root, root / "published")
    assert str(caught.value) == (
        "gp_probit: nuts.nc is made with other code; hmc.nc is missing; chain.parquet is older than the files it is "
        "made from; fig_3_11a.svg is missing"
    )


def test_more_than_the_limit_is_rejected(root):
    place = root / "published" / "paper" / "gp_probit"
    with pytest.raises(SettingsError, match=r"expected at most 0.001 MB of all studies, got 0.\d"):
        write_study(place, gather(STUDY, "paper", NOW, root, root / "published")[0], limit_mb=0.001)
    assert not place.exists()


def test_pieces_have_rows_of_their_own_and_one_together(tmp_path):
    pieces = [{**PROVENANCE, "piece": f"{k} of 2", "cpu_s": 40.0, "processor_kind": f"k{k}"} for k in (1, 2)]
    write_case(tmp_path / "ais.nc", cpu_s=85.0, processor_kind="k2", pieces=pieces)
    jobs = job_table(jobs_of_result(tmp_path / "ais.nc"))
    assert jobs[["piece", "cpu_s"]].values.tolist() == [["1 of 2", 40.0], ["2 of 2", 40.0], ["", 5.0]]
    (case,) = by_case(jobs).to_dict("records")
    assert (case["cpu_s"], case["processor_kind"]) == (85.0, "k1; k2")
    assert case["sha256"] == jobs["sha256"].iloc[-1]


def test_digests_ignore_times_and_nothing_else(tmp_path):
    def digest(**changes):
        write_case(tmp_path / "ais.nc", **changes)
        return array_digest(read_result(tmp_path / "ais.nc"))

    assert digest() == digest() == digest(seconds=7.0) != digest(shift=1e-15)


def test_a_published_case_makes_the_same_tables(tmp_path):
    paths = [tmp_path / name / f"{case}.nc" for name in ("first", "again") for case in NOW]
    for path in paths[:2]:
        write_case(path, pieces=[{**PROVENANCE, "piece": "1 of 2", "cpu_s": 4.0}])
    made = tabulate(paths[:2])
    for first, again in zip(paths[:2], paths[2:], strict=True):
        restore_case(Tables(made), job_table(jobs_of_result(first)), [], again)
        assert jobs_of_result(again) == jobs_of_result(first)
    for name, table in tabulate(paths[2:]).items():
        pd.testing.assert_frame_equal(table, made[name], check_like=name == "settings")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.parent.name for path in PUBLISHED.glob("paper/*/claims.csv")))
def test_claims_in_restored_cases_are_those_of_published_tables(name, tmp_path):
    study, place = load_study(name), PUBLISHED / "paper" / name
    tables, jobs = load_tables(place / "tables"), read_jobs(place / "pieces.csv")
    paths = [tmp_path / f"{case}.nc" for case in tables["settings"]["case"]]
    for path in paths:
        restore_case(tables, jobs[jobs["case"] == path.stem], names_of(study.schema), path)
    columns = ["claim_id", "setting", "measured", "monte_carlo_error"]
    judged = [judge_study(study, found)[columns] for found in (Tables(tabulate(paths)), tables)]
    pd.testing.assert_frame_equal(*judged, rtol=1e-9)


def test_present_cases_are_restored_and_others_named(root, monkeypatch):
    publish(root)
    now = {**NOW, "nuts": {**NOW["nuts"], "numbers": "others"}}
    monkeypatch.setattr(restoring, "identities", lambda study, preset: now)
    published, results = root / "published" / "paper", root / "elsewhere"
    path = results / "paper" / "gp_probit" / "ais.nc"
    restored, left_out = restoring.restore("paper", published, results)
    assert (restored, left_out) == ([path], ["gp_probit nuts: made with other settings"])
    assert not differences(read_attributes(path), "ais", now)
    assert restoring.restore("paper", published, results)[1][0] == "gp_probit ais: there already"


def test_cases_of_older_code_keep_their_record_beside_new_ones(root, monkeypatch):
    publish(root)
    path = root / "results" / "paper" / "gp_probit" / "nuts.nc"
    now = {case: {**own, "code": "c2"} for case, own in NOW.items()}
    write_case(path, shift=1.0, git_commit="e" * 40, code="c2")
    monkeypatch.setattr(restoring, "identities", lambda study, preset: now)
    options = ("paper", root / "published" / "paper", root / "results")
    assert restoring.restore(*options)[0] == []
    assert restoring.restore(*options, older=True)[0] == [path.with_name("ais.nc")]
    write_tables(path.parent / "tables", tabulate([path.with_name("ais.nc"), path]))
    for made in (*path.parent.glob("*.csv"), *root.glob("paper_figures/**/*.svg")):
        os.utime(made)
    publish(root, now)
    jobs = read_jobs(root / "published" / "paper" / "gp_probit" / "pieces.csv")
    expected = [["ais", "d" * 12, "c1"], ["nuts", "e" * 12, "c2"]]
    assert jobs[["case", "commit", "code"]].values.tolist() == expected
    write_case(path.with_name("ais.nc"), shift=2.0)
    with pytest.raises(SettingsError, match=r"ais\.nc is made with other code"):
        gather(STUDY, "paper", now, root, root / "published")
