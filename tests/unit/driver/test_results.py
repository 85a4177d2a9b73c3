"""Result files, tables and kept results: complete or absent, rejected where damaged, and how to make them again."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from auxmc.driver import results
from auxmc.driver.files import checked_arrays, write_arrays
from auxmc.driver.seeds import generator, stream
from auxmc.errors import DamagedFile
from auxmc_pipeline.checksums import SUMS, check_kept, sums_of
from auxmc_pipeline.steps.sweep import rows_with_settings
from auxmc_pipeline.tables import Tables, load_tables, tabulate, write_tables


def test_groups_are_read_as_xarray_reads_them(tmp_path):
    coordinates = {"step": [0.1, 0.2], "name": ["a", "b"], "width": ("step", [1, 2]), "seed": 3}
    dims = ("chain", "name", "step")  # no values of `chain`
    arrays = {"ess": (dims, np.ones((3, 2, 2)), {"units": "draws"}), "is_on": ("name", [True, False])}
    data = xr.Dataset(arrays, coordinates)
    provenance = {"settings": {"method": "m"}, "numbers": "abc", "wall_s": 1.5}
    results.write_result(tmp_path / "a.nc", {"statistics": data, "posterior": data}, provenance)
    about, groups = results.read_groups(tmp_path / "a.nc", ["statistics", "curves"])
    assert (about["numbers"], about["wall_s"], list(groups)) == ("abc", 1.5, ["statistics"])
    xr.testing.assert_equal(groups["statistics"], data)
    assert groups["statistics"]["ess"].attrs["units"] == "draws"
    tree = results.read_result(tmp_path / "a.nc")
    xr.testing.assert_equal(tree["statistics"].to_dataset(), data)
    assert tree["statistics"]["ess"].attrs["units"] == "draws"
    assert json.loads(tree.attrs["settings"]) == {"method": "m"}
    assert tree.attrs["wall_s"] == 1.5


def test_a_full_disk_is_one_plain_error(tmp_path):
    # In a process of its own: what HDF5 says of it, it may say when the process ends.
    code = f"""
import resource
import xarray as xr
from pathlib import Path
from auxmc.driver.results import write_result
large = xr.Dataset({{"x": ("draw", range(5000))}})
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    write_result(Path({str(tmp_path / "full.nc")!r}), {{"posterior": large}}, {{}})
except OSError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == "[Errno 27] File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_missing_files_name_the_command_that_makes_them(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no result file .*x\.nc: make it with `snakemake"):
        results.read_result(tmp_path / "x.nc")
    with pytest.raises(FileNotFoundError, match=r"no table .*x\.parquet: make it with `snakemake"):
        results.read_table(tmp_path / "x.parquet")


def test_rows_have_one_value_each_and_sweeps_replace_settings(tmp_path):
    arrays = {
        "ess": (("chain", "step"), np.array([[1.0, 2.0], [3.0, 4.0]]), {"units": "draws"}),
        "mean": (("chain", "step", "coordinate"), np.ones((2, 2, 2))),
        "total": ((), 7),
    }
    statistics = xr.Dataset(arrays, {"step": [0.1, 0.2], "coordinate": ["a", "b"]})
    about = {"settings": {"method": "m", "step": 9.0, "batch": {}}, "numbers": "abc"}
    results.write_result(tmp_path / "a.nc", {"statistics": statistics}, about)
    table = rows_with_settings(Tables(tabulate([tmp_path / "a.nc"])), "statistics")
    assert len(table) == 4 + 8 + 1
    ess = table[table["quantity"] == "ess"]
    assert set(ess["step"]) == {0.1, 0.2}
    assert set(ess["unit"]) == {"draws"}
    assert table[table["quantity"] == "total"]["step"].item() == 9.0
    results.write_table(tmp_path / "t.parquet", table)
    assert results.read_table(tmp_path / "t.parquet").equals(table)


def test_streams_with_different_names_differ_and_are_stable():
    names = [("a", "b"), ("ab",), ("a", 1), ("a", "1"), ("a",)]
    draws = [generator(3, *name).integers(2**62) for name in names]
    assert len(set(draws)) == len(names)
    assert len({str(stream(3, *name)) for name in names}) == len(names)
    assert generator(3, "a").integers(2**62) != generator(4, "a").integers(2**62)
    assert generator(3, "a").integers(2**62) == draws[-1]


# --- damaged files ------------------------------------------------------------------------------------

AGAIN = r"make it again with `snakemake --force .*results/quick/radon/{} --config preset=quick`"


def flipped(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))


@pytest.fixture
def result(tmp_path):
    path = tmp_path / "results" / "quick" / "radon" / "nuts.nc"
    results.write_result(path, {"statistics": xr.Dataset({"mean": ((), 1.5)})}, {"study": "radon"})
    return path


def test_a_result_with_a_flipped_bit_or_cut_short_is_noticed(result):
    whole = result.read_bytes()
    # Not in the mark behind the content: without it nothing has changed in what is read.
    for place in np.linspace(0, len(whole) - 60, 20).astype(int):
        flipped(result, place)
        with pytest.raises(DamagedFile, match=AGAIN.format("nuts.nc")):
            results.read_result(result)
        flipped(result, place)
    with results.read_result(result) as tree:
        assert float(tree["statistics"]["mean"]) == 1.5
    for n_bytes in (0, 10, 2000):
        result.write_bytes(whole[:n_bytes])
        with pytest.raises(DamagedFile, match=AGAIN.format("nuts.nc")):
            results.read_result(result)


def test_tables_of_a_study_are_made_again_by_the_rule_of_their_folder(tmp_path):
    folder = tmp_path / "results/smoke/radon/tables"
    again = f"make it again with `snakemake --force {folder} --config preset=smoke`"
    quantities = pd.DataFrame({"quantity": ["mean"], "table": ["chain"]})
    tables = dict.fromkeys(("settings", "quantity", "chain"), quantities)
    write_tables(folder, tables)
    assert set(load_tables(folder)) == set(tables)
    for name in tables:
        (folder / f"{name}.parquet").unlink()
        with pytest.raises(FileNotFoundError, match=re.escape(f"no table {folder}/{name}.parquet: {again}")):
            load_tables(folder)
        write_tables(folder, tables)
    (folder / "chain.parquet").write_bytes(b"junk")
    with pytest.raises(DamagedFile, match=re.escape(again)):
        load_tables(folder)


def test_the_result_of_a_sweep_is_made_again_by_its_sweep():
    path = Path("results/smoke/radon/sweeps/a/b.nc")
    words = "preset=smoke study=radon name=a over=..."
    assert results.regenerate_command(path) == f"`snakemake sweep --forcerun {path} --config {words}`"


def test_changed_cells_of_a_table_are_noticed(tmp_path):
    path = tmp_path / "results" / "quick" / "radon" / "summary.parquet"
    table = pd.DataFrame({"case": ["a", None, "b"], "value": [1.0, np.nan, 3.0]})
    results.write_table(path, table)
    pd.testing.assert_frame_equal(results.read_table(path), table)
    flipped(path, path.read_bytes().index(np.float64(3.0).tobytes()))
    assert pd.read_parquet(path)["value"].iloc[2] != 3.0
    with pytest.raises(DamagedFile, match=AGAIN.format("summary.parquet")):
        results.read_table(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(DamagedFile, match=AGAIN.format("summary.parquet")):
        results.read_table(path)


def test_a_changed_csv_is_noticed(tmp_path):
    path = tmp_path / "claims.csv"
    results.write_csv(path, pd.DataFrame({"a": [1.25]}))
    assert results.checked_csv(path) == path
    path.write_text(path.read_text().replace("1.25", "1.35"))
    with pytest.raises(DamagedFile, match="changed since it was written"):
        results.checked_csv(path)


def test_what_was_kept_is_compared_with_its_sums(tmp_path, result):
    kept = tmp_path / "tables" / "chain.parquet"
    kept.parent.mkdir()
    kept.write_bytes(result.read_bytes())
    (tmp_path / SUMS).write_text(sums_of(tmp_path, ["tables/chain.parquet"]))
    assert check_kept(kept) == kept
    kept.write_bytes(b"other")
    with pytest.raises(DamagedFile, match=r"chain.parquet is damaged: .*`git checkout"):
        check_kept(kept)


def test_an_archive_is_right_or_rejected(tmp_path):
    path = tmp_path / "a.npz"
    write_arrays(path, {"x": np.arange(50.0)})
    whole, random, n_noticed = path.read_bytes(), np.random.default_rng(1), 0
    for place in range(0, len(whole), 7):
        begin, end = whole[:place], whole[place + 1 :]
        flipped_bit, other_bytes = bytes([whole[place] ^ 1]) + end, random.bytes(50) + end[49:]
        for content in (begin + flipped_bit, begin, begin + other_bytes, random.bytes(place % 100)):
            path.write_bytes(content)
            try:
                with checked_arrays(path) as file:
                    np.testing.assert_array_equal(file["x"], np.arange(50.0))
            except DamagedFile:
                n_noticed += 1
    # Flipped bits in what zip says of a file's date change nothing.
    assert n_noticed > 0.85 * 4 * len(whole) / 7
    path.unlink()
    with pytest.raises(DamagedFile, match="missing"), checked_arrays(path):
        pass
