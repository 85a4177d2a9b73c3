"""Every numbered item of the documents has a counterpart, and the page that says so is up to date."""

from pathlib import Path

import pytest

from auxmc_pipeline.steps import coverage

ROOT = Path(__file__).parents[3]


def test_every_item_that_is_not_a_drawing_has_a_counterpart() -> None:
    missing = [item.name for item, places in coverage.coverage() if not (places or item.drawing)]
    assert missing == []


def test_repeated_items_name_items_that_exist() -> None:
    items = coverage.numbered_items()
    names = {item.name for item in items}
    assert len(names) == len(items) > 130
    assert {item.repeats for item in items if item.repeats} <= names


def test_studies_show_no_figure_that_the_documents_do_not_number() -> None:
    assert set(coverage.figures()) <= {item.name for item in coverage.numbered_items()}


def test_a_supplement_of_a_figure_is_a_counterpart_of_it() -> None:
    places = coverage.figures()["PhD thesis, figure 3.11"]
    assert [place.name for place in places] == ["fig_3_11a", "fig_3_11b", "fig_3_11b_supplement"]


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "coverage.md").read_text() == coverage.markdown(), (
        "make it again: python -m auxmc_pipeline.steps.coverage --write"
    )


def test_sources_are_read_from_docstrings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "ROOT", tmp_path)
    (tmp_path / "some.py").write_text(
        'def f():\n    """Does.\n\n    Source: PhD thesis, Algorithms 2 and 10, and MSc thesis,\n'
        '    Algorithm 1; Tables A.1 to A.3 of the PhD thesis, which are not read before their document.\n    """\n'
        'def g():\n    """Source: PhD thesis, Tables A.1 to A.2 and A.3, and section 7."""\n'
    )
    found = coverage.algorithms_and_tables(tmp_path)
    assert {item: [place.name for place in places] for item, places in found.items()} == {
        "PhD thesis, algorithm 2": ["f"],
        "PhD thesis, algorithm 10": ["f"],
        "MSc thesis, algorithm 1": ["f"],
        "PhD thesis, table A.1": ["g"],
        "PhD thesis, table A.2": ["g"],
        "PhD thesis, table A.3": ["g"],
    }


def test_a_missing_counterpart_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coverage, "algorithms_and_tables", lambda: {})
    assert coverage.main([]) == 1
    assert "no counterpart: PhD thesis, algorithm 14" in capsys.readouterr().err


def test_a_figure_leads_to_its_drawing_function_and_to_what_records_its_numbers() -> None:
    (place,) = coverage.figures()["PhD thesis, figure 4.3"]
    assert place.file == "experiments/manifold_illustrations/figures.py"
    assert "def oscillating_trajectory" in (ROOT / place.file).read_text().splitlines()[place.line - 1]
    quantities = {quantity.name: quantity for quantity in place.quantities}
    assert {"fibre", "hmc_path", "constrained_path"} <= set(quantities)
    for quantity in quantities.values():
        assert f'"{quantity.name}"' in (ROOT / quantity.file).read_text().splitlines()[quantity.line - 1]


def test_a_function_is_found_on_the_line_where_it_begins() -> None:
    places = {place.name: place for place in coverage.algorithms_and_tables()["PhD thesis, algorithm 14"]}
    place = places["gibbs_continuous_tempering"]
    assert f"def {place.name}" in (ROOT / place.file).read_text().splitlines()[place.line - 1]
