"""Writes the report, one self-contained page: `python -m auxmc_pipeline.report --help`.

It has the findings, figures, claims and provenance of a preset, or of the published results, whose figures go to a
folder next to the page.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from auxmc.driver.files import write_atomically
from auxmc_pipeline.catalogue import ROOT, check_preset
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.judging.published import published_presets, read_published
from auxmc_pipeline.report.markdown import breakable, prose
from auxmc_pipeline.report.numbers import number, seconds
from auxmc_pipeline.report.page import FIGURES, StudyResults, published_results, read_page, results_of_run

_TEMPLATES = ROOT / "workflow" / "report"
# A page that opens within two seconds, with its figures.
_LARGEST_MB = 14.0


@errors_in_one_line(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__)
    parser.add_argument("preset", help="preset of the results, or `published`")
    parser.add_argument("--out", type=Path, required=True, help="page to write (.html)")
    parser.add_argument("--studies", nargs="+", default=[], help="which ones, by default all")
    options = parser.parse_args(arguments)
    size = 0
    if options.preset == "published":
        kept = read_published()
        results = published_results(kept)
        page = read_page(results, kept.run_in_words, is_published=True)
        text, size = render(page, ""), _copy_figures(results, options.out)
    else:
        check_preset(options.preset)
        results = results_of_run(options.preset, options.studies)
        largest = next(iter(published_presets()), options.preset)
        compares = options.preset not in ("smoke", largest)
        judged = read_published(largest).judged if compares else {}
        page = read_page(results, f"preset {options.preset}", kept=judged)
        text = render(page, Path(os.path.relpath(Path.cwd(), options.out.parent.resolve())).as_posix())
    for claim in page["unexplained"]:
        print(f"warning: {claim}: no finding in the README of the study explains it", file=sys.stderr)
    write_atomically(options.out, lambda path: path.write_text(text, encoding="utf-8"))
    size_mb = (len(text.encode()) + size) / 1e6
    if size_mb > _LARGEST_MB:
        print(f"warning: {size_mb:.0f} MB open slowly; are there large figures?", file=sys.stderr)
    print(f"{options.out}: {size_mb:.1f} MB with figures")
    return 0


def render(page: Mapping[str, Any], root: str) -> str:
    """The page of `read_page` as HTML; `root` leads from it to the project, empty for files without a link."""
    loader, undefined = jinja2.FileSystemLoader(_TEMPLATES), jinja2.StrictUndefined
    environment = jinja2.Environment(
        loader=loader, undefined=undefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": number, "seconds": seconds, "prose": prose, "breakable": breakable}
    environment.filters["dashed"] = lambda text: text.replace(" ", "-")
    return environment.get_template("report.html.j2").render(page, root=root)


def _copy_figures(results: Mapping[str, StudyResults], out: Path) -> int:
    """Copies the figures next to the page; returns their size in bytes."""
    size = 0
    for name, found in results.items():
        for path in found.figures.values():
            place = out.parent / FIGURES / name / path.name
            place.parent.mkdir(parents=True, exist_ok=True)
            size += place.write_bytes(path.read_bytes())
    return size


if __name__ == "__main__":
    sys.exit(main())
