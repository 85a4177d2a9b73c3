"""The table of the documents' figures and algorithms names functions that exist, and every numbered figure."""

import ast
import re

from auxmc_pipeline.catalogue import ROOT, load_study, studies
from auxmc_pipeline.report.code_places import drawn_by
from auxmc_pipeline.report.figures import parse_figure_name

ROWS = [line for line in (ROOT / "docs" / "coverage.md").read_text().splitlines() if line.startswith("| ")]


def test_functions_in_the_table_exist() -> None:
    places = set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", "\n".join(ROWS)))
    assert len(places) > 80
    for file, name in places:
        defined = {getattr(node, "name", "") for node in ast.walk(ast.parse((ROOT / file).read_text()))}
        assert not name or name in defined, f"{file}::{name}"


def test_every_numbered_figure_of_a_study_is_in_the_table_with_its_function() -> None:
    for study in map(load_study, studies()):
        for figure in study.figures:
            if parse_figure_name(figure)[0] or figure.startswith("slides_"):
                (row,) = (row for row in ROWS if f"`{study.name}/{figure}`" in row)
                assert f"`{drawn_by(study, figure)}`" in row, row
