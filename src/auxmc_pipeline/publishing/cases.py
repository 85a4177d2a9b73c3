"""Published cases: result files without draws, from which the tables of their study can be made again."""

import gzip
import tempfile
import zlib
from pathlib import Path

import xarray as xr

from auxmc.driver.files import write_atomically
from auxmc.driver.results import read_result, with_checksum
from auxmc.errors import DamagedFile
from auxmc_pipeline.checksums import check_kept
from auxmc_pipeline.digests import DIGEST

__all__ = ["pack_case", "unpack_case"]

_GROUPS = ("statistics", "curves")


def pack_case(path: Path, digest: str) -> bytes:
    """A result file without its draws as compressed NetCDF: the same bytes for the same result.

    Args:
        path: the result file.
        digest: of all its arrays, stored as an attribute because the draws are left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / path.name
        tree = read_result(path)
        try:
            kept = xr.DataTree.from_dict(
                {name: tree[name].to_dataset().load() for name in _GROUPS if name in tree.children}
            )
            kept.attrs = {**tree.attrs, DIGEST: digest}
            for node in kept.subtree:
                for variable in node.variables.values():
                    # Compressed one by one they take four times the space: most are a few numbers.
                    variable.encoding = {}
            kept.to_netcdf(small, engine="h5netcdf")
        finally:
            tree.close()
        return gzip.compress(small.read_bytes(), mtime=0)


def unpack_case(kept: Path, path: Path) -> None:
    """Writes a published case as a result file.

    Raises:
        DamagedFile: If the published file is not what was written.
    """
    content = check_kept(kept).read_bytes()
    try:
        content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedFile(f"{kept} is damaged ({error}): restore it with `git checkout -- {kept}`") from error
    write_atomically(path, lambda temporary: temporary.write_bytes(with_checksum(content)))
