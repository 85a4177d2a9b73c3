"""Publishes the results of a preset in the repository: `python -m auxmc_pipeline.steps.publish --help`.

Results go to published/, long tables with six digits; counts and costs go to the README. Every result must be of
the present settings, code and data.
"""

import re
import sys
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from auxmc.driver.files import write_atomically
from auxmc.driver.results import checked_csv, read_attributes, read_table, write_cells
from auxmc_pipeline.catalogue import ROOT, Study, check_preset, load_study, studies
from auxmc_pipeline.checksums import SUMS, sums_of
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.jobs import (
    PUBLISHED,
    Identities,
    differences,
    identities,
    job_table,
    jobs_of_result,
    read_jobs,
    record_costs,
)
from auxmc_pipeline.judging.published import MEASURED, read_published
from auxmc_pipeline.judging.study_tables import read_verdicts
from auxmc_pipeline.readme_tables import with_results
from auxmc_pipeline.settings import SettingsError

README = ROOT / "README.md"
# Presets published with curves and figures. The others run in minutes.
_WHOLE = ("paper",)
_LIMIT_MB = 30.0
# Rows of a table that is published with six digits.
_LONG = 20_000
# Quantities of such tables of which more is kept: differences of numbers of thousands of nats count.
_IN_DOUBLE = {"log_evidence", "error"}
# Bytes of a path that is a curve, not a marker.
_LONG_PATH = 400


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__, "preset")
    parser.add_argument("--so-far", action="store_true", help="publish the studies that are finished")
    costs = "record the costs of jobs in experiments/costs.csv alone"
    parser.add_argument("--costs-only", action="store_true", help=costs)
    options = parser.parse_args(arguments)
    preset = check_preset(options.preset)
    found, missing = {}, []
    for study in map(load_study, studies()):
        try:
            found[study.name] = gather(study, preset, identities(study, preset))
        except SettingsError as error:
            missing.append(str(error))
    if missing and not (options.so_far and found):
        advice = f"`snakemake --config preset={preset}` makes them; --so-far publishes the studies that are finished"
        raise SettingsError("\n  ".join(["missing results:", *missing]) + f"\n{advice}")
    if options.costs_only:
        record_costs(preset, pd.concat([jobs for _, jobs in found.values()]))
    else:
        n_written = sum(write_study(PUBLISHED / preset / name, files) for name, (files, _) in found.items())
        print(f"published/{preset}: {n_written} files of {len(found)} studies changed")
    text = with_results(README.read_text(encoding="utf-8"), read_published())
    write_atomically(README, lambda path: path.write_text(text, encoding="utf-8"))
    all_are = f"all studies of preset {preset} are recorded"
    print("\n  ".join(["still missing:", *missing]) if missing else all_are)
    return 0


def gather(
    study: Study, preset: str, now: Identities, root: Path = Path(), published: Path = PUBLISHED
) -> tuple[dict[str, bytes], pd.DataFrame]:
    """Content of each file by its path in the study's folder, and its jobs.

    A case that is published keeps its record, by whatever code it was made. Raises SettingsError with all files that
    are missing, out of date, or of other settings, code or data.
    """
    results, is_whole = root / "results" / preset / study.name, preset in _WHOLE
    cases = [results / f"{case}.nc" for case in now]
    figures = root / "paper_figures" / preset / study.name
    drawings = [figures / f"{name}.svg" for name in study.figures if is_whole]
    tables = sorted((results / "tables").glob("*.parquet")) or [results / "tables" / "point.parquet"]
    measured = [results / "claims.csv", results / "numbers.csv"]
    kept = read_jobs(published / preset / study.name / "pieces.csv")
    if problems := list(_problems(now, [cases, tables, [*measured, *drawings]], kept)):
        raise SettingsError(f"{study.name}: {'; '.join(problems)}")
    jobs = job_table([row for path in cases for row in jobs_of_result(path)])
    kept_tables = _kept(study, {path.stem: read_table(path) for path in tables}, is_whole)
    in_short = set(kept_tables["quantity"]["quantity"]) - _IN_DOUBLE
    return {
        "claims.csv": read_verdicts(results / "claims.csv")[MEASURED].to_csv(index=False).encode(),
        "numbers.csv": checked_csv(results / "numbers.csv").read_bytes(),
        "pieces.csv": jobs.to_csv(index=False).encode(),
        **{
            f"tables/{name}.parquet": packed_table(table, in_short if len(table) > _LONG else ())
            for name, table in kept_tables.items()
        },
        **{f"figures/{path.name}": _compact(path.read_bytes()) for path in drawings},
    }, jobs


def _compact(svg: bytes) -> bytes:
    """A drawing in about half as many bytes: places to a hundredth of a point, long curves to a tenth, few spaces."""
    places = re.sub(rb'(?<= [xy]=")[^"]*|(?<= d=")[^"]*', lambda found: _rounded(found[0]), svg)
    styles = re.sub(rb'(?<= style=")[^"]*', lambda found: re.sub(rb"([:;]) ", rb"\1", found[0]), places)
    return re.sub(rb">\s+<", b"><", styles)


def _rounded(path: bytes) -> bytes:
    digits = 1 if len(path) > _LONG_PATH else 2
    numbers = re.sub(rb"-?\d+\.\d+", lambda found: b"%g" % round(float(found[0]), digits), path)
    few_spaces = re.sub(rb"\s*([A-Za-z])\s*", rb"\1", b" ".join(numbers.split()))
    return re.sub(rb" -", b"-", re.sub(rb"(?<![\d.])0\.(?=\d)", b".", few_spaces))


def _kept(study: Study, tables: dict[str, pd.DataFrame], is_whole: bool) -> dict[str, pd.DataFrame]:
    """Tables that are published, as the study says; without curves if the preset runs in minutes."""
    if is_whole:
        shown = {}
        for name, table in tables.items():
            if "case" in table and name not in ("settings", "chain", "point"):
                patterns = [
                    *study.by_chain,
                    *(study.without_draws if {"draw", "sample"} & set(table) else ()),
                ]
                left_out = [
                    case for case in table["case"].unique() if any(fnmatchcase(case, p) for p in patterns)
                ]
                shown[name] = ~table["case"].isin(left_out)
        return tables | {name: tables[name][kept].reset_index(drop=True) for name, kept in shown.items()}
    statistics = tables["quantity"].query("group == 'statistics'").reset_index(drop=True)
    names = ("settings", *statistics["table"].unique())
    return {name: tables[name] for name in names} | {"quantity": statistics}


def write_study(place: Path, contents: Mapping[str, bytes], limit_mb: float = _LIMIT_MB) -> int:
    """Writes the files of a study that change, removes others from its folder, and returns how many it wrote.

    Raises SettingsError, and writes nothing, if the files of all studies of the preset are larger than the limit.
    """
    others = [p for p in place.parent.rglob("*") if p.is_file() and place not in p.parents]
    size_mb = (sum(map(len, contents.values())) + sum(path.stat().st_size for path in others)) / 1e6
    if size_mb > limit_mb:
        raise SettingsError(f"{place}: expected at most {limit_mb:g} MB of all studies, got {size_mb:.1f}")
    there = {path: path.read_bytes() for path in map(place.joinpath, contents) if path.is_file()}
    changed = [name for name, content in contents.items() if there.get(place / name) != content]
    for name in changed:
        write_atomically(place / name, partial(Path.write_bytes, data=contents[name]))
    (place / SUMS).write_text(sums_of(place, contents), encoding="utf-8")
    for path in set(place.rglob("*")) - {place / name for name in (*contents, SUMS)}:
        if path.is_file():
            path.unlink()
    return len(changed)


def _problems(now: Identities, stages: list[list[Path]], kept: pd.DataFrame) -> Iterator[str]:
    """Files that are missing, not of the present, or older than the files of the stage that they are made from."""
    newest = 0.0
    for paths in stages:
        for path in paths:
            if not path.is_file():
                yield f"{path.name} is missing"
            elif path.suffix == ".nc" and (differs := differences(read_attributes(path), path.stem, now)):
                jobs = job_table(jobs_of_result(path))
                if differs != "code" or len(jobs.merge(kept)) < len(jobs):
                    yield f"{path.name} is made with other {differs}"
            elif path.stat().st_mtime < newest:
                yield f"{path.name} is older than the files it is made from"
        newest = max([newest, *(path.stat().st_mtime for path in paths if path.is_file())])


def packed_table(table: pd.DataFrame, in_short: Collection[str] = ()) -> bytes:
    """A table as a small Parquet file: numbers split into their bytes, which compresses them by another quarter.

    Of numbers `in_short` 20 significant bits are kept, of others next to these 40, in the range of doubles.
    """
    buffer = BytesIO()
    numbers = list(map(str, table.select_dtypes("float")))
    bits = {name: 20 if name in in_short else 40 for name in numbers} if in_short else {}
    parts = {name: np.frexp(table[name].to_numpy()) for name in bits}
    rounded = {
        n: np.ldexp(np.round(of * 2.0 ** bits[n]), power - bits[n]) for n, (of, power) in parts.items()
    }
    table = table.assign(**rounded)
    write_cells(
        buffer,
        table,
        compression="brotli",
        compression_level=11,
        store_schema=False,
        write_statistics=False,
        use_dictionary=False,
        use_byte_stream_split=numbers,
    )
    return buffer.getvalue()


if __name__ == "__main__":
    sys.exit(main())
