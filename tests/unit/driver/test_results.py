"""Result files and tables: complete or absent, and they say what produced them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from auxmc.driver.files import write_atomically
from auxmc.driver.results import read_result, read_table, write_result, write_table
from auxmc.driver.seeds import generator, stream
from auxmc_pipeline.tidy import tidy_table


def _write(path: Path) -> None:
    statistics = xr.Dataset(
        {
            "ess": (("chain", "step"), np.array([[1.0, 2.0], [3.0, 4.0]]), {"units": "draws"}),
            "mean": (("chain", "step", "coordinate"), np.ones((2, 2, 2))),
            "total": ((), 7),
        },
        {"step": [0.1, 0.2], "coordinate": ["a", "b"]},
    )
    write_result(
        path,
        {"statistics": statistics},
        {"settings": {"method": "m", "step": 9.0, "batch": {}}, "numbers": "abc", "wall_s": 1.5},
    )


def test_a_result_file_reads_back(tmp_path: Path) -> None:
    _write(tmp_path / "a.nc")
    tree = read_result(tmp_path / "a.nc")
    assert tree["statistics"]["ess"].attrs["units"] == "draws"
    assert json.loads(tree.attrs["settings"])["method"] == "m"
    assert tree.attrs["wall_s"] == 1.5


def test_a_failed_write_leaves_nothing_and_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("old")

    def fail(temporary: Path) -> None:
        temporary.write_text("half", encoding="utf-8")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]


def test_a_full_disk_is_one_plain_error(tmp_path: Path) -> None:
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


def test_missing_files_name_the_command_that_makes_them(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no result file .*x\.nc: make it with `snakemake"):
        read_result(tmp_path / "x.nc")
    with pytest.raises(FileNotFoundError, match=r"no table .*x\.parquet: make it with `snakemake"):
        read_table(tmp_path / "x.parquet")


def test_tidy_table_has_one_value_a_row_and_sweeps_replace_settings(tmp_path: Path) -> None:
    _write(tmp_path / "a.nc")
    table = tidy_table([tmp_path / "a.nc"], "statistics")
    assert len(table) == 4 + 8 + 1
    ess = table[table["quantity"] == "ess"]
    assert set(ess["step"]) == {0.1, 0.2}
    assert set(ess["unit"]) == {"draws"}
    assert table[table["quantity"] == "total"]["step"].item() == 9.0
    assert list(table)[-3:] == ["quantity", "unit", "value"]
    write_table(tmp_path / "t.parquet", table)
    assert read_table(tmp_path / "t.parquet").equals(table)


def test_streams_with_different_names_differ_and_are_stable() -> None:
    names = [("a", "b"), ("ab",), ("a", 1), ("a", "1"), ("a",)]
    draws = [generator(3, *name).integers(2**62) for name in names]
    assert len(set(draws)) == len(names)
    keys = {str(stream(3, *name)) for name in names}
    assert len(keys) == len(names)
    assert generator(3, "a").integers(2**62) != generator(4, "a").integers(2**62)
    assert generator(3, "a").integers(2**62) == draws[-1]
