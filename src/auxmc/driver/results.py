"""Result files and tables: complete or absent, never half-written; and right or refused when they are read.

A result file ends in a checksum of all bytes before it, behind the end of the HDF5 file: other programs do not see it.
The pages of a table carry checksums of Parquet.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import h5py
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import xarray as xr

from auxmc.driver.files import write_atomically
from auxmc.errors import DamagedFile

__all__ = [
    "attributes_of",
    "check_beside",
    "check_sealed",
    "made_again_by",
    "read_attributes",
    "read_result",
    "read_table",
    "seal",
    "write_cells",
    "write_csv",
    "write_result",
    "write_table",
]

Opened = TypeVar("Opened", xr.DataTree, xr.Dataset)

_SEAL = b"\nauxmc blake2b "
_SEAL_BYTES = len(_SEAL) + 32
_PIECE_BYTES = 1 << 22


def write_result(path: Path, groups: Mapping[str, xr.Dataset], provenance: Mapping[str, Any]) -> None:
    """Writes one NetCDF file with named groups (`posterior`, `sample_stats`, ...) and provenance attributes.

    Args:
        path: file to write, suffix `.nc`.
        groups: datasets with dims `chain`, `draw` first where they have them, units in attributes. Of a study's case,
            `statistics` and `curves` become rows of its tables; `posterior`, `sample_stats`, `observed_data` and
            others follow ArviZ.
        provenance: root attributes; containers are stored as JSON text.
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

    # In memory: HDF5 itself, on a full disk, goes on to fail in its own words until the process ends.
    content = tree.to_netcdf(engine="h5netcdf", encoding=options)

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)
        seal(temporary)

    write_atomically(path, write)


def read_result(path: Path) -> xr.DataTree:
    """Opens a result file; arrays are read when used.

    Raises:
        FileNotFoundError: there is no such file; says which command makes it.
        DamagedFile: it is not what was written; says which command makes it again.
    """
    return _opened(path, xr.open_datatree)


def read_attributes(path: Path) -> dict[str, Any]:
    """Attributes of a result file, containers unpacked, without a look at its arrays.

    Raises:
        FileNotFoundError: as `read_result`.
        DamagedFile: as `read_result`.
    """
    with _opened(path, xr.open_dataset) as root:
        return attributes_of(root)


def _opened(path: Path, opens: Callable[..., Opened]) -> Opened:
    if not path.is_file():
        raise FileNotFoundError(f"no result file {path}: make it with `snakemake {path}`")
    check_sealed(path)
    try:
        # A file that fails to open fails again, in words of its own, when it is closed.
        if not h5py.is_hdf5(path):
            raise ValueError("it is not HDF5")
        return opens(path, engine="h5netcdf")
    except MemoryError:
        raise
    except Exception as error:
        raise _damaged(path, f"it cannot be read as NetCDF: {error}") from error


def seal(path: Path) -> None:
    """Writes a checksum of a whole file behind its end; for formats whose readers do not mind."""
    digest = _digest(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(_SEAL + digest)


def check_sealed(path: Path) -> None:
    """Compares a file with the checksum at its end; one without a checksum is not looked at.

    Raises:
        DamagedFile: they do not agree; says which command makes the file again.
    """
    size = path.stat().st_size - _SEAL_BYTES
    if size < 0:
        raise _damaged(path, "it is cut short")
    with path.open("rb") as file:
        file.seek(size)
        end = file.read()
    if end.startswith(_SEAL) and end[len(_SEAL) :] != _digest(path, size):
        raise _damaged(path, "it has changed since it was written")


def made_again_by(path: Path) -> str:
    """The command that makes a file of the workflow again, to be read after "make it again with"."""
    found = re.search(r"(?:results|paper_figures)/([^/]+)/([^/]+/sweeps/[^/]+)?", path.as_posix())
    if found and found[2]:
        study, _, name = found[2].split("/")
        words = f"preset={found[1]} study={study} name={name} over=..."
        return f"`snakemake sweep --forcerun {path} --config {words}`"
    return f"`snakemake --force {path}{f' --config preset={found[1]}' if found else ''}`"


def _damaged(path: Path, what: str) -> DamagedFile:
    return DamagedFile(
        f"{path} is damaged: {' '.join(what.split())}; make it again with {made_again_by(path)}"
    )


def _digest(path: Path, n_bytes: int) -> bytes:
    """Digest of the first bytes of a file, as 32 ASCII digits."""
    found = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while n_bytes > 0 and (piece := file.read(min(n_bytes, _PIECE_BYTES))):
            found.update(piece)
            n_bytes -= len(piece)
    return found.hexdigest().encode()


def attributes_of(tree: xr.DataTree | xr.Dataset) -> dict[str, Any]:
    """Attributes of a result file, containers unpacked."""
    return {
        str(k): json.loads(v) if isinstance(v, str) and v.startswith(("{", "[")) else v
        for k, v in tree.attrs.items()
    }


def write_table(path: Path, table: pd.DataFrame, *, csv: bool = False) -> None:
    """Writes a tidy table as parquet, and beside it as CSV for people where it is small."""
    write_atomically(path, lambda temporary: write_cells(temporary, table))
    if csv:
        write_atomically(
            path.with_suffix(".csv"),
            lambda temporary: table.to_csv(temporary, index=False, float_format="%.6g"),
        )


def write_cells(where: Path | IO[bytes], table: pd.DataFrame, **options: Any) -> None:
    """Writes a table as Parquet with a checksum of every page, which `read_table` verifies.

    Args:
        where: file or buffer to write to.
        table: the table; its index is not kept.
        options: of `pyarrow.parquet.write_table`.
    """
    cells = pa.Table.from_pandas(table, preserve_index=False)
    pa_parquet.write_table(cells, where, write_page_checksum=True, **options)


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Writes a table as CSV with all digits, and its checksum in a hidden file beside it, for `check_beside`."""
    beside = _beside(path)
    beside.unlink(missing_ok=True)
    write_atomically(path, lambda temporary: table.to_csv(temporary, index=False))
    digest = _digest(path, path.stat().st_size)
    write_atomically(beside, lambda temporary: temporary.write_bytes(digest))


def check_beside(path: Path) -> Path:
    """A file that `write_csv` wrote, compared with its checksum; one without a checksum is not looked at.

    Raises:
        DamagedFile: they do not agree; says which command makes the file again.
    """
    beside = _beside(path)
    if beside.is_file() and beside.read_bytes() != _digest(path, path.stat().st_size):
        raise _damaged(path, "it has changed since it was written")
    return path


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.blake2b")


def read_table(path: Path) -> pd.DataFrame:
    """Reads a table written by `write_table`.

    Raises:
        FileNotFoundError: there is no such file; says which command makes it.
        DamagedFile: it is not what was written; says which command makes it again.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no table {path}: make it with `snakemake {path}`")
    try:
        table: pd.DataFrame = pa_parquet.ParquetFile(path, page_checksum_verification=True).read().to_pandas()
    except MemoryError:
        raise
    except Exception as error:
        raise _damaged(path, f"it cannot be read as Parquet: {error}") from error
    return table
