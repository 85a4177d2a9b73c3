"""Puts kept cases back into results/, so that a preset goes on: `python -m auxmc_pipeline.steps.restore --help`."""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from auxmc.driver.files.writing import write_atomically
from auxmc_pipeline.catalogue import check_preset, load_study, studies
from auxmc_pipeline.judging.published import PUBLISHED
from auxmc_pipeline.judging.sums import check_kept
from auxmc_pipeline.publishing.cases import unpack
from auxmc_pipeline.publishing.gather import CASES
from auxmc_pipeline.publishing.jobs import attributes_at, read_jobs
from auxmc_pipeline.publishing.state import changed, identities
from auxmc_pipeline.publishing.unfinished import PIECES, pieces_in
from auxmc_pipeline.steps.errors import errors_in_one_line


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.restore",
        description="Put the cases that published/ holds, and pieces of unfinished ones, into results/, so that "
        "Snakemake makes the others. What was made with other settings, code or data is left out, and results that "
        "are there stay.",
    )
    parser.add_argument("preset")
    options = parser.parse_args(arguments)
    check_preset(options.preset)
    restored, left_out = restore(options.preset, PUBLISHED / options.preset, Path("results"))
    for line in left_out:
        print(f"left out: {line}")
    print(f"{len(restored)} cases and pieces restored to results/{options.preset}, {len(left_out)} left out")
    return record(options.preset, restored) if restored else 0


def restore(preset: str, kept_in: Path, results: Path) -> tuple[list[Path], list[str]]:
    """Writes the result files of kept cases.

    Args:
        preset: the preset.
        kept_in: its folder in `published/`.
        results: folder of the results of all presets.

    Returns:
        Files written, and lines that say which cases were left out and why.
    """
    restored, left_out = [], []
    for name in studies():
        jobs = read_jobs(kept_in / name / "pieces.csv")
        files = sorted((kept_in / name / CASES).glob("*.nc.gz"))
        cut = sorted((kept_in / name / PIECES).glob("*"))
        now = identities(load_study(name), preset) if files or cut else {}
        for small in files:
            case = small.name.removesuffix(".nc.gz")
            path = results / preset / name / f"{case}.nc"
            of_case = jobs[jobs["case"] == case]
            if of_case.empty:
                left_out.append(f"{name} {case}: not in pieces.csv")
            elif changed(dict(of_case.iloc[-1]), case, now):
                difference = " and ".join(changed(dict(of_case.iloc[-1]), case, now))
                left_out.append(f"{name} {case}: made with other {difference}")
            elif path.is_file() and not changed(attributes_at(path), case, now):
                left_out.append(f"{name} {case}: there already")
            else:
                unpack(small, path)
                restored.append(path)
        for case in (folder.name for folder in cut):
            for place, piece in pieces_in(kept_in / name, case, now).items():
                path = results / preset / name / place
                if not path.is_file():
                    write_atomically(path, partial(shutil.copyfile, check_kept(piece)))
                    restored.append(path)
    return restored, left_out


def record(preset: str, paths: Sequence[Path]) -> int:
    """Tells Snakemake what the restored files were made with, so that it notices when that changes."""
    words = ["--touch", "--force", "--cores", "1", "--quiet", "all", "--config", f"preset={preset}"]
    return subprocess.call([sys.executable, "-m", "snakemake", *words, "--", *map(str, paths)])


if __name__ == "__main__":
    sys.exit(main())
