"""Keeps what a preset measured in the repository: `python -m auxmc_pipeline.steps.publish --help`."""

import argparse
import sys
from pathlib import Path

import pandas as pd

from auxmc.driver.files.writing import write_atomically
from auxmc_pipeline.catalogue import ROOT, check_preset, load_study, studies
from auxmc_pipeline.judging.counts import Counts, counts_by_document
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.published import PUBLISHED, Published, read_published
from auxmc_pipeline.judging.verdicts import VERDICTS
from auxmc_pipeline.publishing.crate import write_crate
from auxmc_pipeline.publishing.gather import Gathered, gather
from auxmc_pipeline.publishing.keep import keep
from auxmc_pipeline.publishing.state import identities
from auxmc_pipeline.settings import SettingsError

README = ROOT / "README.md"
_BEGIN, _END = "<!-- counts: begin -->\n", "<!-- counts: end -->\n"


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.publish",
        description="Keep the results of a preset in published/, and the counts in the README: of each study at the "
        "largest preset that is kept. Every result must be of the present settings and code.",
    )
    parser.add_argument("preset")
    parser.add_argument(
        "--so-far",
        action="store_true",
        help="keep the cases and studies that are finished; the others come later",
    )
    options = parser.parse_args(arguments)
    try:
        check_preset(options.preset)
        found = {name: _gathered(name, options.preset) for name in studies()}
        lacking = [line for name in found for line in _lacking(name, found[name])]
        if lacking and not options.so_far:
            raise SettingsError(
                "\n  ".join(["not all is there:", *lacking])
                + f"\nmake it with `snakemake --config preset={options.preset}`, or keep what is finished with --so-far"
            )
        written = keep(PUBLISHED / options.preset, found)
        write_crate(PUBLISHED / options.preset, options.preset)
    except (SettingsError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if lacking:
        print("\n  ".join(["still to come:", *lacking]))
    published = read_published()
    text = with_counts(README.read_text(), published)
    write_atomically(README, lambda path: path.write_text(text))
    print(f"published/{options.preset}: {written}; the counts in README.md are of {published.run_in_words}")
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


def _gathered(name: str, preset: str) -> Gathered:
    study = load_study(name)
    return gather(study, preset, identities(study, preset), Path(), PUBLISHED / preset / name)


def _lacking(name: str, found: Gathered) -> list[str]:
    lines = [f"{name}: {case} is {why}" for case, why in found.missing.items()]
    return lines + ([f"{name}: {found.unfinished}"] if found.unfinished else [])


if __name__ == "__main__":
    sys.exit(main())
