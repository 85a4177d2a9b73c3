"""Keeps what a preset measured in the repository: `python -m auxmc_pipeline.steps.publish --help`."""

import argparse
import sys
from pathlib import Path

import pandas as pd

from auxmc.driver.provenance import describe_environment
from auxmc.driver.results import write_atomically
from auxmc_pipeline.catalogue import ROOT, check_preset, identity_of, load_study, studies
from auxmc_pipeline.judging.counts import Counts, counts_by_document
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.published import Published, published_presets, read_published, write_published
from auxmc_pipeline.judging.verdicts import VERDICTS
from auxmc_pipeline.report.claim_lines import read_numbers, read_verdicts
from auxmc_pipeline.report.provenance import case_record
from auxmc_pipeline.settings import SettingsError

README = ROOT / "README.md"
_BEGIN, _END = "<!-- counts: begin -->\n", "<!-- counts: end -->\n"


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.publish",
        description="Copy what was measured for every claim into published/, and its counts into the README.",
    )
    parser.add_argument("preset")
    options = parser.parse_args(arguments)
    results = Path("results") / options.preset
    try:
        check_preset(options.preset)
        write_published(
            options.preset,
            {name: read_verdicts(results / name / "claims.csv") for name in studies()},
            {name: read_numbers(results / name / "numbers.csv") for name in studies()},
            _run(options.preset),
        )
    except (SettingsError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    text = with_counts(README.read_text(), read_published(published_presets()[0]))
    write_atomically(README, lambda path: path.write_text(text))
    print(f"published/{options.preset} and the counts in README.md are up to date")
    return 0


def with_counts(text: str, published: Published) -> str:
    """A page whose table of counts, between two marks, is that of some results.

    Raises:
        ValueError: the page has no such marks.
    """
    if not (_BEGIN in text and _END in text):
        raise ValueError(f"the page lacks the marks {_BEGIN.strip()} and {_END.strip()}")
    before, _, rest = text.partition(_BEGIN)
    return f"{before}{_BEGIN}{counts_table(published)}{_END}{rest.partition(_END)[2]}"


def counts_table(published: Published) -> str:
    """Claims by document and verdict in Markdown, and which run they are from."""
    counted = counts_by_document(pd.concat(published.judged.values(), ignore_index=True))
    names = [(document.name, document.key) for document in read_documents()]
    head = ["claims of", *VERDICTS, "all", "expected wrong"]
    lines = [head, ["---"] * len(head)]
    lines += [_cells(name, counted[key]) for name, key in names if key in counted]
    own = counted[""]
    rows = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return (
        f"{rows}\nOne claim is one numbered statement; the worst of its lines counts. Beside them "
        f"{own.n_claims} checks of our own, {own.verdicts['reproduced']} of which hold.\n"
        f"Run: {published.run_in_words}.\n"
    )


def _cells(name: str, counts: Counts) -> list[str]:
    numbers = [*counts.verdicts.values(), counts.n_claims]
    return [name, *map(str, numbers), f"{counts.expected_wrong:.1f}"]


def _run(preset: str) -> dict[str, object]:
    """Which run it was: the present commit, since every result must be of the present code and settings.

    Raises:
        SettingsError: a result is missing, or was made with other code or settings.
    """
    records = []
    for name in studies():
        study = load_study(name)
        for case in study.cases(preset):
            about = case_record(name, case.name, preset).attributes
            now = identity_of(study, case.settings)
            if (about.get("code"), about.get("numbers")) != (now["code"], now["numbers_digest"]):
                raise SettingsError(
                    f"results/{preset}/{name}/{case.name}.nc is missing or was made with other code or settings; bring "
                    f"it up to date with `snakemake {name} --config preset={preset}`"
                )
            records.append(about)
    newest = max(records, key=lambda about: str(about["created"]))
    return {
        "commit": describe_environment(ROOT)["git_commit"],
        "created": newest["created"],
        "processor": newest["processor"],
        "n_cores": newest["n_cores"],
        "cpu_s": round(sum(float(about["cpu_s"]) for about in records)),
    }


if __name__ == "__main__":
    sys.exit(main())
