"""Hooks of pytest that tell which layer of which component a test tests, and note how each of them ended."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.statistical import ledger
from tests.statistical.matrix import Cell, cells_of

__all__ = [
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_runtest_logreport",
    "pytest_runtest_setup",
]

_PROPERTY = "layer"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds an option that leaves out tests of nothing in the matrix."""
    parser.addoption(
        "--only-layers", action="store_true", help="only tests of a component and layer of the matrix"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Gives each test its cells of the matrix, as properties of its reports."""
    for item in items:
        cells = cells_of(item.nodeid, _marked(item))
        item.user_properties += [(_PROPERTY, list(cell)) for cell in cells]
    if config.getoption("--only-layers"):
        config.hook.pytest_deselected(items=[item for item in items if not _cells(item.user_properties)])
        items[:] = [item for item in items if _cells(item.user_properties)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tells the ledger what the test that begins tests."""
    ledger.begin(_cells(item.user_properties))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Appends a line for each test that has ended to the file named by AUXMC_LAYER_RESULTS, in one process alone."""
    target = os.environ.get("AUXMC_LAYER_RESULTS")
    ended = report.when == "call" or (report.when == "setup" and not report.passed)
    if target is None or not ended or "PYTEST_XDIST_WORKER" in os.environ:
        return
    line = {
        "test": report.nodeid,
        "outcome": report.outcome,
        "seconds": report.duration,
        "cells": _cells(report.user_properties),
    }
    with Path(target).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _marked(item: pytest.Item) -> Iterator[Cell]:
    for mark in item.iter_markers("layer"):
        component, layer = mark.args
        yield component, layer


def _cells(properties: list[tuple[str, object]]) -> list[Cell]:
    return [(value[0], value[1]) for name, value in properties if name == _PROPERTY]  # type: ignore[index]
