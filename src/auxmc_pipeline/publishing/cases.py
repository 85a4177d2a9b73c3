"""Finished cases in a small form, from which an interrupted preset goes on elsewhere.

A case is kept as what its study's tables are made of, groups `statistics` and `curves` and all attributes; its draws
are not kept.
"""

import gzip
import tempfile
import zlib
from pathlib import Path

import xarray as xr

from auxmc.driver.files.writing import write_atomically
from auxmc.driver.results import read_result, seal
from auxmc.errors import DamagedFile
from auxmc_pipeline.judging.sums import check_kept
from auxmc_pipeline.publishing.digests import DIGEST

__all__ = ["GROUPS", "packed", "unpack"]

GROUPS = ("statistics", "curves")


def packed(path: Path, digest: str) -> bytes:
    """A result file without its draws: compressed NetCDF, the same bytes for the same result.

    Args:
        path: the result file.
        digest: of all its arrays, kept as an attribute since not all are there any more.
    """
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / path.name
        tree = read_result(path)
        try:
            kept = xr.DataTree.from_dict(
                {name: tree[name].to_dataset().load() for name in GROUPS if name in tree.children}
            )
            kept.attrs = {**tree.attrs, DIGEST: digest}
            for node in kept.subtree:
                for variable in node.variables.values():
                    # Each compressed by itself takes four times the space: most are a few numbers.
                    variable.encoding = {}
            kept.to_netcdf(small, engine="h5netcdf")
        finally:
            tree.close()
        return gzip.compress(small.read_bytes(), mtime=0)


def unpack(kept: Path, path: Path) -> None:
    """Writes a kept case as a result file.

    Raises:
        DamagedFile: what is kept is not what was written.
    """
    try:
        content = gzip.decompress(check_kept(kept).read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, DamagedFile):
            raise
        raise DamagedFile(
            f"{kept} is damaged ({error}): have it back with `git checkout -- {kept}`"
        ) from error

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)
        seal(temporary)

    write_atomically(path, write)
