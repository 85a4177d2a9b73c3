"""Runs one case: `python -m auxmc_pipeline.steps.run study=STUDY [KEY=VALUE ...] out=FILE.nc`."""

import argparse
import dataclasses
import json
import os
import sys
import time
from pathlib import Path

from auxmc.driver.provenance import fingerprint
from auxmc.driver.runtime import HardwareError, configure, limit_threads
from auxmc_pipeline.catalogue import ROOT, Study, identity_of, load_study, studies
from auxmc_pipeline.settings import CaseSettings, SettingsError


def main(arguments: list[str] | None = None) -> int:
    """Command line of a case; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.run",
        description="Run one case of a study and write one result file. An interrupted run goes on where it "
        "stopped when the same command is given again.",
        epilog=f"Studies: {', '.join(studies())}. Settings follow Hydra's override grammar: KEY=VALUE. "
        "`auxmc settings STUDY` lists the settings of a study.",
    )
    parser.add_argument("words", nargs="*", metavar="KEY=VALUE", help="study=..., out=FILE.nc, any setting")
    parser.add_argument("--show", action="store_true", help="print the composed settings and stop")
    options = parser.parse_args(arguments)
    # Settings of a study may import NumPy.
    limit_threads()
    try:
        words = dict(_split(word) for word in options.words)
        study = load_study(words.pop("study", ""))
        out = words.pop("out", None)
        overrides = [f"{key}={value}" for key, value in words.items()]
        settings = study.settings(overrides)
        if options.show:
            print(json.dumps(dataclasses.asdict(settings), indent=2))
            return 0
        if out is None:
            raise SettingsError("out=FILE.nc is missing: where to write the result")
        run_case(study, settings, Path(out))
    except (SettingsError, HardwareError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: finished blocks are kept, the same command goes on from there", file=sys.stderr)
        return 130
    return 0


def run_case(study: Study, settings: CaseSettings, out: Path) -> None:
    """Runs a case and writes its result file.

    Args:
        study: the study.
        settings: composed and checked settings of the case.
        out: result file; checkpoints live beside the project's results in `.checkpoints/`.
    """
    clock = time.perf_counter()
    cache = None if os.environ.get("AUXMC_COMPILATION_CACHE") == "off" else Path(".cache/jax")
    configure(settings.hardware, cache)
    # Imported late: JAX must be configured before the first array.
    from auxmc.driver.chains import RunContext
    from auxmc.driver.checkpoint import Checkpoint
    from auxmc.driver.provenance import describe_environment, peak_memory_mib
    from auxmc.driver.results import write_result
    from auxmc.driver.stopwatch import stopwatch

    identity = identity_of(study, settings)
    folder = Path(".checkpoints") / out.with_suffix("")
    context = RunContext(study.name, settings.seed, folder, fingerprint(identity), f"{study.name}/{out.stem}")
    with stopwatch() as times:
        groups = study.module("run").run(settings, context)
    provenance = {
        "study": study.name,
        "case": out.stem,
        "settings": dataclasses.asdict(settings) | {"presets": {}, "grids": {}},
        "numbers": identity["numbers_digest"],
        "code": identity["code"],
        "data": identity["data"],
        "seed": settings.seed,
        **describe_environment(ROOT),
        "compile_s": times.compile_s,
        "run_s": times.run_s,
        "n_iterations_resumed": context.n_resumed,
        "wall_s": time.perf_counter() - clock,
        # Snakemake reads the CPU time of a long job every half minute only and misses its end.
        "cpu_s": time.process_time(),
        "peak_memory_mib": peak_memory_mib(),
    }
    write_result(out, groups, provenance)
    Checkpoint(folder, "").discard()
    print(
        f"{context.label}: wrote {out} ({provenance['wall_s']:.1f} s, {provenance['peak_memory_mib']:.0f} MiB)"
    )


def _split(word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise SettingsError(f"expected KEY=VALUE, got {word!r}")
    return key, value


if __name__ == "__main__":
    sys.exit(main())
