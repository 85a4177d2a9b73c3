"""Result files and tables: complete or absent, and intact or rejected when they are read.

A result file ends in a checksum of all bytes before it, behind the end of the HDF5 file: other programs do not see it.
The pages of a table carry checksums of Parquet.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

import h5py
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import xarray as xr

from auxmc.driver.files import write_atomically
from auxmc.errors import DamagedFile

Opened = TypeVar("Opened")

_SEAL = b"\nauxmc blake2b "
_SEAL_BYTES = len(_SEAL) + 32


def write_result(path: Path, groups: Mapping[str, xr.Dataset], provenance: Mapping[str, Any]) -> None:
    """Writes one NetCDF file (`.nc`) with named groups and provenance attributes, of which containers become JSON text.

    Datasets have dims `chain`, `draw` first where they have them, units in attributes. Of a study's case, `statistics`
    and `curves` become rows of its tables; `posterior`, `sample_stats`, `observed_data` and others follow ArviZ.
    """
    tree = xr.DataTree.from_dict(dict(groups))
    # A flag is stored as JSON: NetCDF has none.
    tree.attrs = {
        k: v if isinstance(v, str | int | float) and not isinstance(v, bool) else json.dumps(v)
        for k, v in provenance.items()
    }
    options: dict[str, Any] = {}
    for name, data in groups.items():
        # Draws are hardly compressible, but flags and counters are: level 1 costs little time.
        options[f"/{name}"] = {
            str(v): {"zlib": True, "complevel": 1} for v in data.variables if data[v].dtype.kind in "fib"
        }

    # In memory: HDF5 itself, on a full disk, fails in its own words until the process ends.
    content = bytes(tree.to_netcdf(engine="h5netcdf", encoding=options))
    sealed = content + _SEAL + _digest(content)
    write_atomically(path, lambda temporary: temporary.write_bytes(sealed))


def read_result(path: Path) -> xr.DataTree:
    """Opens a result file; arrays are read when used.

    FileNotFoundError and DamagedFile, here and below, say which command makes the file.
    """
    return _opened(path, partial(xr.open_datatree, engine="h5netcdf"))


def read_groups(path: Path, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, xr.Dataset]]:
    """Reads the attributes of a result file and those of some groups that it has, of numbers and text.

    Not with xarray, which takes ten times as long to read hundreds of small arrays.
    """

    def read(place: Path) -> tuple[dict[str, Any], dict[str, xr.Dataset]]:
        with h5py.File(place) as file:
            return dict(file.attrs), {name: _dataset(file[name]) for name in names if name in file}

    return _opened(path, read)


def _dataset(group: h5py.Group) -> xr.Dataset:
    """Arrays of a group with their units, as NetCDF stores them in HDF5."""
    arrays, coordinates = {}, set(group.attrs.get("coordinates", "").split())
    for name, array in group.items():
        if not array.attrs.get("NAME", b"").startswith(
            b"This is a netCDF dimension but not a netCDF variable"
        ):
            dims = [next((one.name.rpartition("/")[2] for one in dim.values()), name) for dim in array.dims]
            values = array.asstr()[()] if h5py.check_string_dtype(array.dtype) else array[()]
            arrays[name] = xr.Variable(dims, values, {"units": array.attrs.get("units", "")})
            coordinates.update(array.attrs.get("coordinates", "").split())
    return xr.Dataset(arrays).set_coords(coordinates)


def read_attributes(path: Path) -> dict[str, Any]:
    """Attributes of a result file, containers unpacked, without a look at its arrays."""
    with _opened(path, partial(xr.open_dataset, engine="h5netcdf")) as root:
        return attributes_of(root)


def _opened(path: Path, opens: Callable[[Path], Opened]) -> Opened:
    if not path.is_file():
        raise FileNotFoundError(f"no result file {path}: make it with `snakemake {path}`")
    content = path.read_bytes()
    body, end = content[:-_SEAL_BYTES], content[-_SEAL_BYTES:]
    if not body:
        raise _damaged(path, "it is cut short")
    # A file without a checksum is not looked at.
    if end.startswith(_SEAL) and end[len(_SEAL) :] != _digest(body):
        raise _damaged(path, "it has changed since it was written")
    del content, body
    try:
        # A file that fails to open fails again, in words of its own, when it is closed.
        if not h5py.is_hdf5(path):
            raise ValueError("it is not HDF5")
        return opens(path)
    except MemoryError:
        raise
    except Exception as error:
        raise _damaged(path, f"it cannot be read as NetCDF: {error}") from error


def regenerate_command(path: Path) -> str:
    """The command that makes a file of the workflow again, to be read after "make it again with"."""
    if re.search(r"results/[^/]+/[^/]+/tables/[^/]+$", path.as_posix()):
        path = path.parent  # A rule makes all tables of a study.
    found = re.search(r"(?:results|paper_figures)/([^/]+)/([^/]+/sweeps/[^/]+)?", path.as_posix())
    if found and found[2]:
        study, _, name = found[2].split("/")
        words = f"preset={found[1]} study={study} name={name} over=..."
        return f"`snakemake sweep --forcerun {path} --config {words}`"
    return f"`snakemake --force {path}{f' --config preset={found[1]}' if found else ''}`"


def _damaged(path: Path, what: str) -> DamagedFile:
    return DamagedFile(
        f"{path} is damaged: {' '.join(what.split())}; make it again with {regenerate_command(path)}"
    )


def _digest(content: bytes) -> bytes:
    """Digest of bytes, as 32 ASCII digits."""
    return hashlib.blake2b(content, digest_size=16).hexdigest().encode()


def attributes_of(tree: xr.DataTree | xr.Dataset) -> dict[str, Any]:
    """Attributes of a result file, containers unpacked."""
    return {
        str(k): json.loads(v) if isinstance(v, str) and v.startswith(("{", "[")) else v
        for k, v in tree.attrs.items()
    }


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Writes a table as Parquet, for `read_table`."""
    write_atomically(path, lambda temporary: write_cells(temporary, table))


def write_cells(where: Path | IO[bytes], table: pd.DataFrame, **options: Any) -> None:
    """Writes a table without its index as Parquet with a checksum of every page, which `read_table` verifies."""
    # What pandas would add about columns and index is not read again, and takes more room than a small table.
    cells = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    pa_parquet.write_table(cells, where, write_page_checksum=True, **options)


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Writes a table as CSV with all digits, and its checksum in a hidden file next to it, for `checked_csv`."""
    checksum = _checksum_of(path)
    checksum.unlink(missing_ok=True)
    write_atomically(path, lambda temporary: table.to_csv(temporary, index=False))
    write_atomically(checksum, lambda temporary: temporary.write_bytes(_digest(path.read_bytes())))


def checked_csv(path: Path) -> Path:
    """A file that `write_csv` wrote, compared with its checksum (DamagedFile) where it has one."""
    checksum = _checksum_of(path)
    if checksum.is_file() and checksum.read_bytes() != _digest(path.read_bytes()):
        raise _damaged(path, "it has changed since it was written")
    return path


def _checksum_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.blake2b")


def read_table(path: Path) -> pd.DataFrame:
    """Reads a table written by `write_table`."""
    if not path.is_file():
        raise FileNotFoundError(f"no table {path}: make it with `snakemake {path}`")
    try:
        return pa_parquet.ParquetFile(path, page_checksum_verification=True).read().to_pandas()
    except MemoryError:
        raise
    except Exception as error:
        raise _damaged(path, f"it cannot be read as Parquet: {error}") from error
