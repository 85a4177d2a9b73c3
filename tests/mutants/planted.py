"""Plants errors behind claims and runs their cases again: `python -m tests.mutants.planted --help`."""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from auxmc.driver.results import read_table
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.judging.study_tables import claims_of, judge_study
from auxmc_pipeline.report.numbers import with_error
from auxmc_pipeline.tables import Tables
from tests.copies import ROOT, copied, python_path
from tests.mutants.catalogue import read_source_mutations
from tests.mutants.mutation import edited, text_errors

FOLDER = Path(__file__).with_name("claims")
PAGE = ROOT / "docs" / "planted_errors.md"

_KEYS = {"claim", "setting", "study", "cases", "what", "module", "edits", "mutant"}
_COPIED = ("src", "experiments", "conf", "workflow", "pyproject.toml")


class Planted(NamedTuple):
    """An error that must turn the verdict of a claim.

    Attributes:
        claim: its id.
        setting: of the line.
        study: that judges it.
        cases: cases of the study that run again; the others keep their results.
        what: what is wrong.
        path: file that is changed, from the root of the project.
        edits: pairs of a text that occurs once in the file and what takes its place.
    """

    claim: str
    setting: str
    study: str
    cases: tuple[str, ...]
    what: str
    path: str
    edits: tuple[tuple[str, str], ...]


def read_planted() -> list[Planted]:
    """Reads all files of the folder.

    Raises:
        ValueError: a key is unknown or missing, the claim has no such line, or a text is not there exactly once.
    """
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        for given in tomllib.loads(path.read_text())["planted"]:
            where = f"{path.name}, {given.get('claim')}, {given.get('setting')}"
            if not set(given) <= _KEYS or not {"claim", "setting", "study", "cases"} <= set(given):
                raise ValueError(f"{where}: keys are {', '.join(sorted(_KEYS))}")
            found.append(_checked(_planted(given), where))
    return found


def _planted(given: dict[str, Any]) -> Planted:
    if "mutant" in given:
        mutation = read_source_mutations()[given["mutant"].rpartition(".")[2]]
        what, module, edits = mutation.what, mutation.module, mutation.edits
    else:
        what, module, edits = given["what"], given["module"], tuple((old, new) for old, new in given["edits"])
    path = module if module.startswith("experiments/") else f"src/auxmc/{module}"
    return Planted(
        given["claim"],
        given["setting"],
        given["study"],
        tuple(given["cases"]),
        given.get("what", what),
        path,
        edits,
    )


def _checked(planted: Planted, where: str) -> Planted:
    errors = text_errors(f"{where}: {planted.path}", planted.edits, (ROOT / planted.path).read_text())
    if errors:
        raise ValueError("; ".join(errors))
    claims = claims_of(load_study(planted.study))
    if not ((claims["claim_id"] == planted.claim) & (claims["setting"] == planted.setting)).any():
        raise ValueError(f"{where}: no such line in the claims of {planted.study}")
    return planted


def verdicts(planted: Planted, preset: str, copy: Path) -> tuple[str, str]:
    """What the line says without and with the error: measured value and verdict, in words.

    Args:
        planted: the error.
        preset: preset whose results are there.
        copy: folder for a copy of the project; must not exist.

    Raises:
        RuntimeError: a case does not run with the error in it, or there are no results.
    """
    results = Path("results") / preset / planted.study
    study = load_study(planted.study)
    cases = {case.name: case for case in study.cases(preset)}
    files = [ROOT / results / f"{name}.nc" for name in cases]
    if not all(path.is_file() for path in files):
        raise RuntimeError(f"no results of {planted.study} at preset {preset}: snakemake {planted.study}")
    before = _judged(planted, [ROOT / results / name for name in ("summary.parquet", "curves.parquet")])
    copied(copy, _COPIED)
    changed = copy / planted.path
    changed.write_text(edited(changed.read_text(), planted.edits))
    folder = copy / results
    folder.mkdir(parents=True)
    for path in files:
        if path.stem not in planted.cases:
            (folder / path.name).symlink_to(path.resolve())
    for name in planted.cases:
        overrides = [f"study={planted.study}", *cases[name].overrides, f"out={results / name}.nc"]
        _step(copy, "run", *overrides)
    tables = [str(results / name) for name in ("summary.parquet", "curves.parquet")]
    _step(
        copy,
        "summarise",
        "--summary",
        tables[0],
        "--curves",
        tables[1],
        *(str(results / p.name) for p in files),
    )
    return before, _judged(planted, [copy / path for path in tables])


def _step(copy: Path, step: str, *words: str) -> None:
    environment = {"PYTHONPATH": python_path(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", f"auxmc_pipeline.steps.{step}", *words],
        cwd=copy,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{step} {' '.join(words[:3])}: {done.stderr.strip().splitlines()[-1]}")


def _judged(planted: Planted, tables: Sequence[Path]) -> str:
    study = load_study(planted.study)
    claims = claims_of(study)
    line = claims[(claims["claim_id"] == planted.claim) & (claims["setting"] == planted.setting)]
    measures = {planted.claim: study.measures()[planted.claim]}
    row = judge_study(study, Tables.of(*map(read_table, tables)), line, measures).iloc[0]
    return f"{with_error(row['measured'], row['monte_carlo_error'])}: {row['verdict']}"


def page(rows: Iterable[tuple[Planted, str, str]], preset: str) -> str:
    """The page that lists what errors do to verdicts."""
    table = "".join(
        f"| {p.claim}, {p.setting} | {p.what} | `{p.path.removeprefix('src/auxmc/')}` | {before} | {after} |\n"
        for p, before, after in rows
    )
    return (
        "# Planted errors: verdicts that turn\n\n"
        f"Written by `python -m tests.mutants.planted --write`, at preset `{preset}`.\n\n"
        "Each error is put into a copy of the project, into the sampler or the estimator that stands behind a claim;\n"
        "the cases of the claim run again, and it is judged by the same code. A claim whose verdict stays as it was\n"
        "would not have noticed a wrong program.\n\n"
        "| claim | what is wrong | in | without the error | with it |\n|---|---|---|---|---|\n" + table
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the check; returns 0 if every verdict turns, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants.planted",
        description="Plants errors in the samplers and estimators behind claims, runs the claims' cases again and "
        "checks that verdicts turn. Needs results of the preset.",
    )
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--only", default="", help="beginning of the ids of the claims to check")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    rows, n_unturned = [], 0
    for planted in read_planted():
        if not planted.claim.startswith(options.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                before, after = verdicts(planted, options.preset, Path(folder) / "copy")
            except RuntimeError as error:
                before, after = "", f"error: {error}"
        turned = before.endswith(": reproduced") and after.endswith(": not reproduced")
        n_unturned += not turned
        print(
            f"{planted.claim}, {planted.setting}: {before} -> {after}{'' if turned else '  (DID NOT TURN)'}",
            flush=True,
        )
        rows.append((planted, before, after))
    if options.write and not n_unturned:
        PAGE.write_text(page(rows, options.preset))
    return int(n_unturned > 0)


if __name__ == "__main__":
    sys.exit(main())
