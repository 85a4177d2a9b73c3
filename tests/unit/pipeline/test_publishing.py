"""Keeping results: what goes to `published/`, what stays, and that a preset goes on from it."""

import gzip
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from auxmc.driver.results import read_result, write_result, write_table
from auxmc.driver.units import Share, Units, write_piece
from auxmc_pipeline.catalogue import Study, load_study
from auxmc_pipeline.judging.sums import SUMS
from auxmc_pipeline.publishing.cases import packed, unpack
from auxmc_pipeline.publishing.crate import NAME
from auxmc_pipeline.publishing.digests import arrays_of, digest_of_arrays, measures_time
from auxmc_pipeline.publishing.gather import Gathered, gather
from auxmc_pipeline.publishing.jobs import jobs_of_result, read_jobs
from auxmc_pipeline.publishing.keep import keep
from auxmc_pipeline.publishing.state import Identities, changed
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.steps import publish as publishing
from auxmc_pipeline.steps import restore as restoring
from auxmc_pipeline.tidy import tidy_table

NOW = {case: {"numbers": f"n-{case}", "code": "c1", "data": ""} for case in ("ais", "nuts")}
JOB = {
    "git_commit": "d" * 40,
    "git_dirty": "False",
    "created": "2026-11-22T01:02:03",
    "cpu_s": 10.0,
    "peak_memory_mib": 500.0,
    "processor": "A processor",
    "processor_kind": "1234abcd",
    "n_cores": 2,
    "python": "3.11.7",
    "packages": {"jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4.6", "scipy": "1.17.1"},
}


def made_up(path: Path, case: str, *, shift: float = 0.0, seconds: float = 1.0, **about: object) -> None:
    """A result file of study radon."""
    draws = np.random.default_rng(3).normal(size=(4, 50)) + shift
    statistics = xr.Dataset(
        {
            "log_evidence": ((), -10.0 + shift, {"units": "nats"}),
            "log_evidence_error": ((), 0.1, {"units": "nats"}),
            "by_chain": ("chain", draws.mean(axis=1)),
            "fit_seconds": ((), seconds, {"units": "s"}),
        }
    )
    groups = {
        "posterior": xr.Dataset({"z": (("chain", "draw"), draws)}),
        "statistics": statistics,
        "curves": xr.Dataset({"trace": ("draw", draws[0])}),
    }
    attributes = {
        "study": "radon",
        "settings": {"preset": "paper", "seed": 1, "batch": {}},
        **NOW.get(case, NOW["ais"]),
        "seed": 1,
        **JOB,
        **about,
    }
    write_result(path, groups, attributes)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with results of both cases at preset paper, and their tables, claims and figures."""
    folder = tmp_path / "results" / "paper" / "radon"
    for case in NOW:
        made_up(folder / f"{case}.nc", case)
    paths = [folder / f"{case}.nc" for case in NOW]
    write_table(folder / "summary.parquet", tidy_table(paths, "statistics"))
    write_table(folder / "curves.parquet", tidy_table(paths, "curves"))
    claims = (
        "claim_id,setting,kind,document,quantity,low,high,measured,monte_carlo_error,exact,note,verdict\n"
    )
    (folder / "claims.csv").write_text(f"{claims}A1,x,M,phd,q,0,1,0.5,0.1,False,,reproduced\n")
    (folder / "numbers.csv").write_text("name,value,error,note,exact\n")
    for figure in load_study("radon").figures:
        path = tmp_path / "paper_figures" / "paper" / "radon" / f"{figure}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<svg/>")
    return tmp_path


@pytest.fixture
def study() -> Study:
    return load_study("radon")


def kept(root: Path, study: Study, now: Identities = NOW, preset: str = "paper") -> Gathered:
    place = root / "published" / preset
    found = gather(study, preset, now, root, place / "radon")
    keep(place, {"radon": found})
    return found


def files(root: Path) -> set[str]:
    place = root / "published" / "paper" / "radon"
    found = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    listed = {line.split("  ")[1] for line in (place / SUMS).read_text().splitlines()}
    assert listed == found - {SUMS}
    return listed


def test_times_do_not_count_and_everything_else_does(tmp_path: Path) -> None:
    def digest(**changes: float) -> str:
        made_up(tmp_path / "a.nc", "ais", **changes)
        tree = read_result(tmp_path / "a.nc")
        found = digest_of_arrays(arrays_of(tree))
        tree.close()
        return found

    first = digest()
    assert digest() == first
    assert digest(seconds=7.0) == first
    assert digest(shift=1e-15) != first
    assert [measures_time("acceptance_second_half"), measures_time("seconds.run")] == [False, True]


def test_a_finished_study_is_kept_whole(root: Path, study: Study) -> None:
    found = kept(root, study)
    assert (found.missing, found.unfinished) == ({}, "")
    figures = {f"figures/{name}.svg" for name in study.figures}
    tables = {"summary.parquet", "curves.parquet", "claims.csv", "numbers.csv", "pieces.csv"}
    assert files(root) == figures | tables | {"cases/ais.nc.gz", "cases/nuts.nc.gz"}
    place, results = root / "published" / "paper" / "radon", root / "results" / "paper" / "radon"
    pd.testing.assert_frame_equal(
        pd.read_parquet(place / "summary.parquet"), pd.read_parquet(results / "summary.parquet")
    )
    assert (place / "claims.csv").read_text().splitlines() == [
        "claim_id,setting,measured,monte_carlo_error,exact,note",
        "A1,x,0.5,0.1,False,",
    ]
    jobs = read_jobs(place / "pieces.csv")
    assert jobs["case"].tolist() == ["ais", "nuts"]
    assert (
        jobs["versions"].tolist()
        == ["python 3.11.7, jax 0.10.2, jaxlib 0.10.2, numpy 2.4.6, scipy 1.17.1"] * 2
    )
    assert jobs["cpu_s"].sum() == 20.0


def test_keeping_again_writes_nothing(root: Path, study: Study) -> None:
    kept(root, study)
    found = gather(study, "paper", NOW, root, root / "published" / "paper" / "radon")
    assert "0 files anew" in keep(root / "published" / "paper", {"radon": found})


def test_of_quick_little_is_kept(root: Path, study: Study) -> None:
    (root / "results" / "paper").rename(root / "results" / "quick")
    found = kept(root, study, preset="quick")
    assert (found.missing, found.unfinished) == ({}, "")
    place = root / "published" / "quick" / "radon"
    assert {path.name for path in place.iterdir()} == {
        "summary.parquet",
        "claims.csv",
        "numbers.csv",
        "pieces.csv",
        SUMS,
    }


def test_finished_cases_come_before_their_study(root: Path, study: Study) -> None:
    (root / "results" / "paper" / "radon" / "nuts.nc").unlink()
    found = kept(root, study)
    assert found.missing == {"nuts": "not there"}
    assert files(root) == {"pieces.csv", "cases/ais.nc.gz"}


def test_results_of_other_code_are_not_kept_and_named(root: Path, study: Study) -> None:
    now = {**NOW, "nuts": {**NOW["nuts"], "code": "c2"}}
    found = kept(root, study, now)
    assert found.missing == {"nuts": "made with other code"}
    assert files(root) == {"pieces.csv", "cases/ais.nc.gz"}


def test_what_an_earlier_run_left_stays_until_there_is_better(root: Path, study: Study) -> None:
    kept(root, study)
    before = files(root)
    now = {case: {**digests, "code": "c2"} for case, digests in NOW.items()}
    found = kept(root, study, now)
    assert set(found.missing) == {"ais", "nuts"}
    assert files(root) == before
    made_up(
        root / "results" / "paper" / "radon" / "nuts.nc", "nuts", shift=1.0, code="c2", created="2026-11-23"
    )
    found = kept(root, study, now)
    assert set(found.missing) == {"ais"}
    jobs = read_jobs(root / "published" / "paper" / "radon" / "pieces.csv")
    assert jobs["code"].tolist() == ["c1", "c2"]


def test_tables_older_than_their_cases_are_not_kept(root: Path, study: Study) -> None:
    path = root / "results" / "paper" / "radon" / "summary.parquet"
    os.utime(path, (1.0, 1.0))
    found = kept(root, study)
    assert "summary.parquet is older" in found.unfinished
    assert files(root) == {"pieces.csv", "cases/ais.nc.gz", "cases/nuts.nc.gz"}


def test_more_than_the_limit_is_refused_with_sizes(root: Path, study: Study) -> None:
    found = gather(study, "paper", NOW, root, root / "published" / "paper" / "radon")
    with pytest.raises(SettingsError, match=r"would have [\d.]+ MB, and 0.001 MB are the limit:\n  radon: "):
        keep(root / "published" / "paper", {"radon": found}, limit_mb=0.001)
    assert not (root / "published").exists()


def test_pieces_have_rows_of_their_own(tmp_path: Path) -> None:
    pieces = [
        {**JOB, "piece": f"{k} of 2", "cpu_s": 40.0, "processor_kind": f"kind{k}", "arrays_sha256": f"s{k}"}
        for k in (1, 2)
    ]
    made_up(tmp_path / "ais.nc", "ais", cpu_s=85.0, pieces=pieces)
    rows = jobs_of_result(tmp_path / "ais.nc")
    assert [(row["piece"], row["cpu_s"], row["processor_kind"]) for row in rows] == [
        ("1 of 2", 40.0, "kind1"),
        ("2 of 2", 40.0, "kind2"),
        ("", 5.0, "1234abcd"),
    ]
    assert [row["sha256"] for row in rows[:2]] == ["s1", "s2"]
    assert {row["code"] for row in rows} == {"c1"}


def test_pieces_are_kept_until_their_case_is_finished(
    root: Path, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = root / "results" / "paper" / "radon" / "nuts.nc"
    case.unlink()
    for number, code in ((1, "c1"), (2, "c0")):
        units = Units(Share(number - 1, 3))
        units.made["chains", number] = {"draws": np.arange(5.0)}
        write_piece(
            case.parent / "pieces" / "nuts" / f"{number}-of-3.npz",
            units,
            "digest",
            {**NOW["nuts"], "code": code},
        )
    (case.parent / "pieces" / "nuts" / "3-of-3.npz").write_bytes(b"half of a file")
    kept(root, study)
    assert "pieces/nuts/1-of-3.npz" in files(root)
    assert not {"pieces/nuts/2-of-3.npz", "pieces/nuts/3-of-3.npz"} & files(root), "other code, damaged"

    monkeypatch.setattr(restoring, "identities", lambda study, preset: NOW)
    elsewhere = root / "elsewhere"
    restored, _ = restoring.restore("paper", root / "published" / "paper", elsewhere)
    piece = elsewhere / "paper" / "radon" / "pieces" / "nuts" / "1-of-3.npz"
    assert piece in restored
    assert piece.read_bytes() == (case.parent / "pieces" / "nuts" / "1-of-3.npz").read_bytes()

    made_up(case, "nuts")
    kept(root, study)
    assert not any(name.startswith("pieces/") for name in files(root))


def test_pieces_alone_are_kept_with_their_crate_and_nothing_is_not(
    tmp_path: Path, study: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published = tmp_path / "published"
    monkeypatch.chdir(tmp_path)
    for name, stand_in in (
        ("PUBLISHED", published),
        ("studies", lambda: ["radon"]),
        ("identities", lambda study, preset: NOW),
        ("README", tmp_path / "README.md"),
        ("read_published", lambda: SimpleNamespace(run_in_words="no run")),
        ("with_results", lambda text, published: text),
    ):
        monkeypatch.setattr(publishing, name, stand_in)
    old = published / "paper" / "radon" / "claims.csv"
    old.parent.mkdir(parents=True)
    old.write_text("kept before jobs were recorded")
    assert publishing.main(["paper", "--so-far"]) == 1
    assert "nothing to keep of preset paper" in capsys.readouterr().err
    assert [path for path in published.rglob("*") if path.is_file()] == [old]

    units = Units(Share(0, 3))
    units.made["chains", 0] = {"draws": np.arange(5.0)}
    piece = tmp_path / "results" / "paper" / "radon" / "pieces" / "nuts" / "1-of-3.npz"
    write_piece(piece, units, "digest", {**NOW["nuts"], "created": "2026-11-20T10:00:00"})
    (tmp_path / "README.md").write_text("a page")
    assert publishing.main(["paper", "--so-far"]) == 0
    crate = json.loads((published / "paper" / NAME).read_text())
    assert crate["@graph"][1]["datePublished"] == "2026-11-20T10:00:00"


def test_a_kept_case_makes_the_same_tables(tmp_path: Path) -> None:
    first, again = tmp_path / "a" / "ais.nc", tmp_path / "b" / "ais.nc"
    made_up(first, "ais")
    digest = jobs_of_result(first)[-1]["sha256"]
    (tmp_path / "ais.nc.gz").write_bytes(packed(first, digest))
    assert packed(first, digest) == packed(first, digest)
    unpack(tmp_path / "ais.nc.gz", again)
    for group in ("statistics", "curves"):
        pd.testing.assert_frame_equal(tidy_table([again], group), tidy_table([first], group))
    assert jobs_of_result(again) == jobs_of_result(first)
    assert gzip.decompress((tmp_path / "ais.nc.gz").read_bytes())


def test_present_cases_are_restored_and_others_named(
    root: Path, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(root, study)
    results = root / "elsewhere"
    now = {**NOW, "nuts": {**NOW["nuts"], "numbers": "others"}}
    monkeypatch.setattr(restoring, "identities", lambda study, preset: now)
    restored, left_out = restoring.restore("paper", root / "published" / "paper", results)
    assert restored == [results / "paper" / "radon" / "ais.nc"]
    assert left_out == ["radon nuts: made with other settings"]
    assert (
        restoring.restore("paper", root / "published" / "paper", results)[1][0] == "radon ais: there already"
    )
    # Kept again from there, nothing is different.
    found = gather(
        study, "paper", {"ais": NOW["ais"]}, root / "elsewhere", root / "published" / "paper" / "radon"
    )
    assert found.jobs["case"].tolist() == ["ais"]


def test_a_changed_digest_is_named_by_what_it_is_of() -> None:
    row = {**NOW["ais"], "code": "c0", "data": "d"}
    assert changed(row, "ais", NOW) == ["code", "data"]
    assert changed(row, "gone", NOW) == ["case gone"]
