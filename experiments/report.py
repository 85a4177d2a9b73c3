"""Writes the report, one self-contained page: `python -m experiments.report --help`."""

import argparse
import base64
import json
import math
import sys
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from auxmc.engine.claims import VERDICTS
from auxmc.engine.results import read_result, read_table, write_atomically
from experiments.catalogue import ROOT, Study, load_study, studies

__all__ = ["main", "render_report"]


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.report",
        description="Write one HTML page with every figure, table and claim of a preset.",
    )
    parser.add_argument("preset")
    parser.add_argument("--out", type=Path, help="page to write; by default only say where things are")
    options = parser.parse_args(arguments)
    if options.out is not None:
        page = render_report(options.preset)
        write_atomically(options.out, lambda path: path.write_text(page))
    else:
        print(_where(options.preset))
    return 0


def render_report(preset: str) -> str:
    """The page as HTML text, images inside.

    Args:
        preset: preset whose tables, claims and figures exist under `results/` and `paper_figures/`.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT / "workflow" / "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["number"] = _number
    environment.filters["text"] = lambda value: (
        "" if isinstance(value, float) and math.isnan(value) else value
    )
    sections = [_section(load_study(name), preset) for name in studies()]
    return environment.get_template("report.html.j2").render(
        preset=preset, studies=sections, verdicts=VERDICTS
    )


_FAILURES = {
    "n_failures": "proposals with a numerical failure",
    "n_collapsed": "slice updates that found no point",
    "n_not_finite": "iterations without a finite estimate",
}


def _section(study: Study, preset: str) -> dict[str, Any]:
    results = Path("results") / preset / study.name
    claims = pd.read_csv(results / "claims.csv", dtype={"published": str})
    images = Path("paper_figures") / preset / study.name
    summary = read_table(results / "summary.parquet")
    return {
        "name": study.name,
        "title": study.title,
        "claims": claims.to_dict("records"),
        "counts": {v: int((claims["verdict"] == v).sum()) for v in VERDICTS},
        "figures": [
            {
                "name": name,
                "caption": caption,
                "image": base64.b64encode((images / f"{name}.png").read_bytes()).decode(),
            }
            for name, caption in study.figures.items()
        ],
        "failures": _failures(summary),
        "tables": _tables(summary),
        "provenance": [_provenance(path) for path in sorted(results.glob("*.nc"))],
    }


def _failures(summary: pd.DataFrame) -> list[dict[str, Any]]:
    """Failures counted in the chains of each case; cases without any are left out."""
    rows = summary[summary["quantity"].isin(list(_FAILURES)) & (summary["value"] != 0.0)]
    counts = rows.groupby(["case", "quantity"], sort=True)["value"].sum().reset_index()
    return [
        {"case": row["case"], "what": _FAILURES[row["quantity"]], "count": row["value"]}
        for row in counts.to_dict("records")
    ]


def _tables(summary: pd.DataFrame) -> list[dict[str, Any]]:
    out = []
    for case, rows in summary.groupby("case", sort=True):
        grouped = rows.groupby(["quantity", "unit"], sort=True)["value"]
        table = grouped.agg(["mean", "min", "max", "count"]).reset_index()
        out.append({"case": case, "rows": table.to_dict("records")})
    return out


def _provenance(path: Path) -> dict[str, Any]:
    tree = read_result(path)
    attributes = {str(k): v for k, v in tree.attrs.items()}
    tree.close()
    shown = {
        k: json.loads(v) if isinstance(v, str) and v.startswith(("{", "[")) else _plain(v)
        for k, v in attributes.items()
    }
    return {
        "case": path.stem,
        "seconds": float(attributes["wall_s"]),
        "memory": float(attributes["peak_memory_mib"]),
        "text": json.dumps(shown, indent=1),
    }


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _number(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)


def _where(preset: str) -> str:
    results = Path("results") / preset
    lines = [
        f"figures  {Path('paper_figures') / preset}",
        f"tables   {results}/<study>/summary.parquet",
        f"claims   {results}/<study>/claims.csv",
        f"report   {results / 'report.html'}",
    ]
    for name in studies():
        path = results / name / "claims.csv"
        if path.is_file():
            counts = pd.read_csv(path)["verdict"].value_counts()
            lines.append(f"verdicts {name}: " + ", ".join(f"{counts.get(v, 0)} {v}" for v in VERDICTS))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
