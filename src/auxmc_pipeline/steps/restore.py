"""Restores published cases to results/, to resume a preset: `python -m auxmc_pipeline.steps.restore --help`.

Snakemake then runs only the others. Cases of other settings, code or data are left out; results that are there stay.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from auxmc.driver.results import read_attributes
from auxmc_pipeline.catalogue import check_preset, load_study, studies
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.jobs import PUBLISHED, by_case, differences, identities, read_jobs
from auxmc_pipeline.publishing.cases import restore_case
from auxmc_pipeline.settings import names_of
from auxmc_pipeline.tables import Tables, load_tables


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__)
    parser.add_argument("preset")
    parser.add_argument(
        "--older",
        action="store_true",
        help="also cases that older code made with the present settings and data",
    )
    options = parser.parse_args(arguments)
    check_preset(options.preset)
    restored, left_out = restore(options.preset, PUBLISHED / options.preset, Path("results"), options.older)
    for line in left_out:
        print(f"left out: {line}")
    print(f"{len(restored)} cases restored to results/{options.preset}, {len(left_out)} left out")
    return touch(options.preset, restored) if restored else 0


def restore(preset: str, published: Path, results: Path, older: bool = False) -> tuple[list[Path], list[str]]:
    """Writes the result files of published cases.

    Args:
        preset: the preset.
        published: its folder in `published/`.
        results: folder of the results of all presets.
        older: whether cases that differ in their code alone are written.

    Returns:
        Files written, and lines that say which cases were left out and why.
    """
    restored, left_out = [], []
    for name in studies():
        jobs = read_jobs(published / name / "pieces.csv")
        study = load_study(name)
        now = identities(study, preset) if len(jobs) else {}
        tables = load_tables(published / name / "tables") if len(jobs) else Tables({})
        for job in by_case(jobs).to_dict("records"):
            case = str(job["case"])
            path = results / preset / name / f"{case}.nc"
            if (differs := differences(job, case, now)) and not (older and differs == "code"):
                left_out.append(f"{name} {case}: made with other {differs}")
            elif path.is_file() and not differences(read_attributes(path), case, now):
                left_out.append(f"{name} {case}: there already")
            else:
                restore_case(tables, jobs[jobs["case"] == case], names_of(study.schema), path)
                restored.append(path)
    return restored, left_out


def touch(preset: str, paths: Sequence[Path]) -> int:
    """Records in Snakemake what the restored files were made with, so that later changes are noticed."""
    words = ["--touch", "--force", "--cores", "1", "--quiet", "all", "--config", f"preset={preset}"]
    return subprocess.call([sys.executable, "-m", "snakemake", *words, "--", *map(str, paths)])


if __name__ == "__main__":
    sys.exit(main())
