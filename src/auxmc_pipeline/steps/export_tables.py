"""Writes tables that a paper can take, as CSV and LaTeX: `python -m auxmc_pipeline.steps.export_tables --help`.

They hold the claims of every study, and the verdicts of every document.
"""

import sys
from pathlib import Path

import pandas as pd

from auxmc.driver.files import write_atomically
from auxmc_pipeline.catalogue import check_preset, load_study, studies
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.judging.counts import verdicts_table
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.study_tables import read_verdicts
from auxmc_pipeline.report.numbers import band, with_error

_LATEX = {
    "\\": r"\textbackslash{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "–": "--",
    "∞": r"$\infty$",
    "…": r"\dots{}",
    "ε": r"$\epsilon$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    **{raised: f"$^{plain}$" for raised, plain in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)},
}


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__, "preset")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--studies", nargs="+", default=studies(), help="which ones, by default all")
    options = parser.parse_args(arguments)
    check_preset(options.preset)
    results = Path("results") / options.preset
    judged = {name: read_verdicts(results / name / "claims.csv") for name in options.studies}
    for name, table in judged.items():
        title = load_study(name).title
        caption = f"{title}: published claims next to measured values, preset {options.preset}."
        whole = claims_table(table)
        # On paper there is no room for all columns.
        printed = whole.drop(columns=["document", "agrees within", "band from"])
        columns = "lp{0.4\\linewidth}p{0.14\\linewidth}lll"
        _write(options.out / name, whole, printed, caption, columns)
    caption = f"Published claims by verdict, preset {options.preset}; one claim is one id."
    whole = verdicts_table(judged, "{:.2f}")
    _write(options.out / "verdicts", whole, whole, caption, "l" + "r" * (len(whole.columns) - 1))
    return 0


def claims_table(judged: pd.DataFrame) -> pd.DataFrame:
    """The judged claims of a study for readers, as texts.

    Columns claim, statement (with its setting), document, place, published, agrees within, band from, measured
    (with its standard error), verdict.
    """
    names = {document.key: document.name for document in read_documents()}
    rows = [
        {
            "claim": row["claim_id"],
            "statement": f"{row['statement']} ({row['setting']})",
            "document": names.get(row["document"], "our own"),
            "place": row["place"],
            "published": row["published"] or "–",
            "agrees within": band(row["low"], row["high"]),
            "band from": row["band_from"],
            "measured": with_error(row["measured"], row["monte_carlo_error"]),
            "verdict": row["verdict"],
        }
        for row in judged.to_dict("records")
    ]
    return pd.DataFrame(rows)


def latex(table: pd.DataFrame, caption: str, label: str, columns: str) -> str:
    """A table of texts as LaTeX `longtable`; needs the packages booktabs and longtable."""
    styled = table.style.hide(axis="index").format(_escape).format_index(_escape, axis="columns")
    text = styled.to_latex(
        environment="longtable", hrules=True, caption=_escape(caption), label=label, column_format=columns
    )
    return f"% Needs \\usepackage{{booktabs,longtable}}.\n{text}"


def _write(base: Path, whole: pd.DataFrame, printed: pd.DataFrame, caption: str, columns: str) -> None:
    """A table as CSV, and what is printed of it as LaTeX."""
    write_atomically(base.with_suffix(".csv"), lambda path: whole.to_csv(path, index=False))
    text = latex(printed, caption, f"tab:{base.name.replace('_', '-')}", columns)
    write_atomically(base.with_suffix(".tex"), lambda path: path.write_text(text, encoding="utf-8"))


def _escape(value: object) -> str:
    return "".join(_LATEX.get(character, character) for character in str(value))


if __name__ == "__main__":
    sys.exit(main())
