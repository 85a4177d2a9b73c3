"""Where everything is that a run has made, and how its claims came out."""

from pathlib import Path

from auxmc_pipeline.catalogue import studies
from auxmc_pipeline.judging.counts import counts_of
from auxmc_pipeline.judging.study_tables import read_verdicts
from auxmc_pipeline.judging.verdicts import VERDICTS

__all__ = ["where_all_is"]


def where_all_is(preset: str) -> str:
    """Folders of figures and tables, counts of verdicts by study, address of the page.

    Args:
        preset: preset of the results in the working directory.
    """
    results = Path("results") / preset
    lines = [
        f"figures  {Path('paper_figures') / preset}",
        f"tables   {results}/<study>/tables, {results}/tables/*.csv and *.tex",
        f"claims   {results}/<study>/claims.csv",
    ]
    for name in studies():
        path = results / name / "claims.csv"
        if path.is_file():
            judged = read_verdicts(path)
            counts = counts_of(judged[judged["origin"] == "published"]).verdicts
            lines.append(f"claims   {name}: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS))
    return "\n".join([*lines, f"report   {(results / 'report.html').resolve().as_uri()}"])
