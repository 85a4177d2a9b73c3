"""Diagnostics reject wrong arguments by name, before they compute anything."""

from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest
import yaml

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("function", "given"), [(name, case) for name, cases in GIVEN.items() for case in cases]
)
def test_wrong_arguments_are_named(function, given):
    values, message, *names = given
    arguments = [np.zeros(one["zeros"]) if isinstance(one, dict) else one for one in values]
    with pytest.raises(ValueError, match=message):
        resolve_name(f"auxmc.diagnostics.{function}")(*arguments, **(names[0] if names else {}))
