"""Judges one claim from result files: `python -m auxmc_pipeline.steps.claim --help`.

The claim is measured in the cases that it needs, and printed next to the published values.
"""

import sys
from pathlib import Path

import pandas as pd

from auxmc.command_line.columns import columns
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.judging.counts import verdict_of_claim
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.study_tables import judge_study
from auxmc_pipeline.judging.verdicts import DOES_NOT_APPLY
from auxmc_pipeline.report.numbers import band, number
from auxmc_pipeline.tables import Tables, tabulate


@errors_in_one_line(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__)
    parser.add_argument("claim_id", metavar="ID")
    parser.add_argument("files", nargs="+", type=Path, help="results/PRESET/STUDY/CASE.nc of these cases")
    options = parser.parse_args(arguments)
    parts = []
    for name in dict.fromkeys(path.parent.name for path in options.files):
        study, files = load_study(name), [path for path in options.files if path.parent.name == name]
        parts.append(judge_study(study, Tables(tabulate(files)), options.claim_id))
    print(describe_claim(pd.concat(parts)))
    return 0


def describe_claim(judged: pd.DataFrame) -> str:
    """Statements of a claim; published value, band, value, error and verdict of each line; the verdict of the claim."""
    names = {document.key: document.name for document in read_documents()}
    parts, keys = [], ["statement", "document", "place"]
    for (statement, document, place), lines in judged.groupby(keys, sort=False, dropna=False):
        rows = [("", "published", "agrees", "ours", "error", "verdict")]
        rows += [
            (
                f"  {line['setting']}",
                line["published"] or "-",
                band(line["low"], line["high"]),
                number(line["measured"]),
                "exact" if line["exact"] else number(line["monte_carlo_error"]),
                line["verdict"],
            )
            for line in lines.to_dict("records")
        ]
        source = f"{names[str(document)]}, {place}" if document else "a check of ours"
        notes = [f"  {note}" for note in dict.fromkeys(lines["note"]) if note]
        parts.append("\n".join([f"{statement} ({source})", columns(rows), *notes]))
    counted = judged[judged["verdict"] != DOES_NOT_APPLY]
    verdict = verdict_of_claim(counted) if len(counted) else DOES_NOT_APPLY
    return "\n\n".join([*parts, f"{judged['claim_id'].iloc[0]}: {verdict}"])


if __name__ == "__main__":
    sys.exit(main())
