"""Runs one case: `python -m auxmc_pipeline.steps.run study=STUDY [KEY=VALUE ...] out=FILE.nc`."""

import argparse
import dataclasses
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auxmc.command_line.interrupts import abort_on_second_interrupt
from auxmc.driver.files import file_lock
from auxmc.driver.provenance import fingerprint
from auxmc.driver.runtime import configure, importing, limit_threads
from auxmc.errors import FolderInUse, HardwareError
from auxmc_pipeline.catalogue import ROOT, Study, identity_of, load_study, studies
from auxmc_pipeline.settings import CaseSettings, SettingsError

if TYPE_CHECKING:
    import xarray as xr

    from auxmc_pipeline.chains import RunContext

_KEPT = "finished blocks are kept, and the same command continues from there"
# Of a piece's provenance, what is the case's as well.
_OF_CASE = ("study", "settings", "numbers", "code", "data", "seed")
# What a case and its pieces spend, summed where it was cut.
_ADDED = ("wall_s", "compile_s", "run_s", "cpu_s", "n_iterations_resumed")


@abort_on_second_interrupt()
def main(arguments: list[str] | None = None) -> int:
    """Command line of a case; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.run",
        description="Run one case of a study and write one result file. An interrupted run continues where it "
        "stopped when the same command is given again.",
        epilog=f"Studies: {', '.join(studies())}. Settings follow Hydra's override grammar: KEY=VALUE. "
        "`auxmc settings STUDY` lists the settings of a study.",
    )
    parser.add_argument("words", nargs="*", metavar="KEY=VALUE", help="study=..., out=FILE.nc, any setting")
    piece = "make one of N pieces of the case's work; out=FILE.npz"
    parser.add_argument("--piece", metavar="K/N", help=piece)
    files: dict[str, Any] = {"metavar": "FILE", "nargs": "+", "type": Path, "default": []}
    parser.add_argument("--merge", **files, help="all pieces of the case")
    parser.add_argument("--show", action="store_true", help="print the composed settings and stop")
    options = parser.parse_args(arguments)
    # Settings of a study may import NumPy.
    limit_threads()
    try:
        words = dict(_split(word) for word in options.words)
        if "study" not in words:
            raise SettingsError(f"expected study=NAME, got {' '.join(words) or 'nothing'}")
        study = load_study(words.pop("study"))
        out = words.pop("out", None)
        settings = study.settings([f"{key}={value}" for key, value in words.items()])
        if options.show:
            print(json.dumps(dataclasses.asdict(settings), indent=2))
            return 0
        if not out:
            raise SettingsError("out=FILE.nc is missing: where to write the result")
        with file_lock(Path(".checkpoints") / f"{out}.lock"):
            share = _piece(options.piece) if options.piece else ()
            run_case(study, settings, Path(out), () if share else options.merge, share)
    except (SettingsError, HardwareError, FolderInUse) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error}: nothing half-written is left; {_KEPT} once this is fixed", file=sys.stderr)
        return 1
    except MemoryError:
        print(f"error: there is not enough memory; {_KEPT}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"interrupted: {_KEPT}", file=sys.stderr)
        return 130
    return 0


def run_case(
    study: Study, settings: CaseSettings, out: Path, pieces: Sequence[Path] = (), share: Sequence[int] = ()
) -> None:
    """Runs a case, with checkpoints in `.checkpoints/`, and writes its result file.

    With a `share`, index from 0 and count, makes that piece of its work alone, and writes it to a file (.npz). Such
    files, if there are any, must be all `pieces` of the case: raises SettingsError otherwise.
    """
    clock = time.perf_counter()
    cache = None if os.environ.get("AUXMC_COMPILATION_CACHE") == "off" else Path(".cache/jax")
    with importing():
        configure(settings.hardware, cache, compiles_fast=settings.preset != "paper")
        # Imported late: JAX must be configured before the first array.
        from auxmc.driver.results import write_result
        from auxmc.errors import PieceError
        from auxmc_pipeline.chains import RunContext
        from auxmc_pipeline.units import Share, Units, read_pieces, write_piece

        study.module("run")

    identity = fingerprint(identity_of(study, settings))
    try:
        given, about_pieces = read_pieces(pieces, identity)
    except PieceError as error:
        raise SettingsError(str(error)) from error
    units, label, about = Units(given=given), f"{study.name}/{out.stem}", {}
    if share:
        units, about = Units(Share(*share)), {"piece": f"{share[0] + 1} of {share[1]}"}
        label = f"{study.name}/{out.parent.name}, piece {about['piece']}"
    folder = Path(".checkpoints") / out.with_suffix("")
    context = RunContext(study.folder, settings.seed, folder, identity, label, units)
    groups, provenance = _run(study, settings, context)
    provenance["wall_s"] = time.perf_counter() - clock
    for piece in about_pieces:
        for name in _ADDED:
            provenance[name] += piece[name]
        provenance["peak_memory_mib"] = max(provenance["peak_memory_mib"], piece["peak_memory_mib"])
    if share:
        write_piece(out, units, identity, about | provenance)
    else:
        own = [{key: value for key, value in piece.items() if key not in _OF_CASE} for piece in about_pieces]
        write_result(out, groups, {**provenance, "case": out.stem, "pieces": own})
    shutil.rmtree(folder, ignore_errors=True)
    seconds, memory = provenance["wall_s"], provenance["peak_memory_mib"]
    print(f"{label}: wrote {out} ({seconds:.1f} s, {memory:.0f} MiB)")


def _run(
    study: Study, settings: CaseSettings, context: "RunContext"
) -> tuple[dict[str, "xr.Dataset"], dict[str, Any]]:
    """Groups of the case, none where units are the work of other jobs, and where and how they were made."""
    from auxmc.driver.provenance import describe_environment, peak_memory_mib
    from auxmc.errors import UnitsMissing
    from auxmc_pipeline.stopwatch import stopwatch

    identity = identity_of(study, settings)
    groups: dict[str, xr.Dataset] = {}
    with stopwatch() as times:
        try:
            groups = study.module("run").run(settings, context)
        except UnitsMissing:
            if context.units.fraction is None:
                raise
    return groups, {
        "study": study.name,
        "settings": dataclasses.asdict(settings),
        "numbers": identity["numbers_digest"],
        "code": identity["code"],
        "data": identity["data"],
        "seed": settings.seed,
        **describe_environment(ROOT),
        "compile_s": times.compile_s,
        "run_s": times.run_s,
        "n_iterations_resumed": context.n_resumed,
        # Snakemake reads the CPU time of a long job every half minute only and misses its end.
        "cpu_s": time.process_time(),
        "peak_memory_mib": peak_memory_mib(),
    }


def _piece(text: str) -> tuple[int, int]:
    """Index from 0 and count of a piece that was given as `2/5`."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    index, count = (int(part) for part in found.groups()) if found else (0, 0)
    if not 1 <= index <= count:
        raise SettingsError(f"--piece must be K/N with K from 1 to N, for example 2/5, got {text!r}")
    return index - 1, count


def _split(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise SettingsError(f"expected KEY=VALUE, got {word!r}")
    return key, value


if __name__ == "__main__":
    sys.exit(main())
