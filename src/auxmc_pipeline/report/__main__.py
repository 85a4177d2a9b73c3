"""Writes the report, one self-contained page: `python -m auxmc_pipeline.report --help`."""

import argparse
import shutil
import sys
from pathlib import Path

from auxmc.driver.files.writing import write_atomically
from auxmc_pipeline.catalogue import check_preset, studies
from auxmc_pipeline.judging.counts import counts_of
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.judging.verdicts import VERDICTS
from auxmc_pipeline.report.claim_lines import read_verdicts
from auxmc_pipeline.report.page import FIGURES, Page, read_page
from auxmc_pipeline.report.rendering import render
from auxmc_pipeline.report.sources import published_results, results_of_run
from auxmc_pipeline.steps.errors import errors_in_one_line

# What opens within two seconds.
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
        print(_where(options.preset))
        return 0
    page = _page(options.preset, options.out)
    for claim in page.unexplained:
        print(f"warning: no explanation on record for {claim} (docs/findings.md)", file=sys.stderr)
    for highlight in page.missing_highlights:
        print(f"warning: workflow/report/front.toml names what is not there: {highlight}", file=sys.stderr)
    text = render(page, None if page.is_published else options.out)
    write_atomically(options.out, lambda path: path.write_text(text))
    size = len(text.encode()) / 1e6
    if size > _LARGEST_MB:
        print(f"warning: {size:.0f} MB open slowly; are there too many large figures?", file=sys.stderr)
    print(f"{options.out}: {size:.1f} MB")
    return 0


def _page(preset: str, out: Path) -> Page:
    if preset == "published":
        kept = read_published()
        results = published_results(kept)
        for name, found in results.items():
            place = out.parent / FIGURES / name
            place.mkdir(parents=True, exist_ok=True)
            for path in found.figures.values():
                shutil.copy(path, place)
        return read_page(results, kept.run_in_words, is_published=True)
    return read_page(results_of_run(preset), f"preset {preset}, the run of this page")


def _where(preset: str) -> str:
    results = Path("results") / preset
    lines = [
        f"figures  {Path('paper_figures') / preset}",
        f"tables   {results}/<study>/summary.parquet, {results}/tables/*.csv and *.tex",
        f"claims   {results}/<study>/claims.csv",
    ]
    for name in studies():
        path = results / name / "claims.csv"
        if path.is_file():
            judged = read_verdicts(path)
            counts = counts_of(judged[judged["origin"] == "published"]).verdicts
            lines.append(f"claims   {name}: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS))
    return "\n".join([*lines, f"report   {(results / 'report.html').resolve().as_uri()}"])


if __name__ == "__main__":
    sys.exit(main())
