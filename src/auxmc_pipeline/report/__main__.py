"""Writes the report, one self-contained page: `python -m auxmc_pipeline.report --help`."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from auxmc.driver.files import write_atomically
from auxmc_pipeline.catalogue import check_preset
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.report.page import FIGURES, Page, read_page
from auxmc_pipeline.report.rendering import render
from auxmc_pipeline.report.sources import StudyResults, published_results, results_of_run
from auxmc_pipeline.steps.errors import errors_in_one_line
from auxmc_pipeline.steps.where import where_all_is

# A page that opens within two seconds, with its figures.
_LARGEST_MB = 12.0


@errors_in_one_line(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.report",
        description="Write one HTML page with the findings, figures, claims and provenance of a preset, or of the "
        "results that the repository keeps, whose figures go into a folder beside it.",
    )
    parser.add_argument(
        "preset", help="preset of the results; `published` takes those that the repository keeps"
    )
    parser.add_argument("--out", type=Path, help="page to write (.html); without it, say where everything is")
    options = parser.parse_args(arguments)
    if options.preset != "published":
        check_preset(options.preset)
    if options.out is None:
        print(where_all_is(options.preset))
        return 0
    page, results = _read(options.preset)
    for claim in page.unexplained:
        print(f"warning: {claim}: no finding in the README of the study explains it", file=sys.stderr)
    if page.is_published:
        root, figure_size = "", _copy_figures(results, options.out) / 1e6
        beside = f", {figure_size:.1f} MB of figures beside it"
    else:
        root = Path(os.path.relpath(Path.cwd(), options.out.parent.resolve())).as_posix()
        figure_size, beside = 0.0, ""
    text = render(page, root)
    write_atomically(options.out, lambda path: path.write_text(text, encoding="utf-8"))
    size = len(text.encode()) / 1e6
    if size + figure_size > _LARGEST_MB:
        print(f"warning: {size + figure_size:.0f} MB open slowly; are there large figures?", file=sys.stderr)
    print(f"{options.out}: {size:.1f} MB{beside}")
    return 0


def _read(preset: str) -> tuple[Page, Mapping[str, StudyResults]]:
    if preset == "published":
        kept = read_published()
        results = published_results(kept)
        return read_page(results, kept.run_in_words, is_published=True), results
    results = results_of_run(preset)
    return read_page(results, f"preset {preset}, the run of this page"), results


def _copy_figures(results: Mapping[str, StudyResults], out: Path) -> int:
    """Puts the figures beside the page; returns their size in bytes."""
    size = 0
    for name, found in results.items():
        for path in found.figures.values():
            place = out.parent / FIGURES / name / path.name
            place.parent.mkdir(parents=True, exist_ok=True)
            size += place.write_bytes(path.read_bytes())
    return size


if __name__ == "__main__":
    sys.exit(main())
