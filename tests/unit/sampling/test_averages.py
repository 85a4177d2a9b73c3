"""Averages and their errors, against closed forms."""

import math

import numpy as np
import pytest

from auxmc.sampling.averages import conditional_average, simple_average

pytestmark = pytest.mark.layer("diagnostics", "L1")


def test_an_average_and_its_error() -> None:
    found = simple_average([[1.0, 0.0], [3.0, 0.0], [5.0, 3.0]])
    np.testing.assert_allclose(found.mean, [3.0, 1.0])
    np.testing.assert_allclose(found.standard_error, [2.0 / math.sqrt(3.0), 1.0])
    assert np.isnan(simple_average([2.0]).standard_error)


def test_conditional_expectations_have_the_smaller_variance_that_the_law_of_variances_gives() -> None:
    # y uniform on 0, ..., 9 and f | y uniform on y - 1, y + 1: equal numbers of each, so no chance in the test.
    y = np.repeat(np.arange(10.0), 20)
    f = y + np.tile([-1.0, 1.0], 100)
    given, direct = conditional_average(lambda values: values, y), simple_average(f)
    assert float(given.mean) == float(direct.mean) == 4.5
    variances = [float(found.standard_error) ** 2 * 199 for found in (given, direct)]
    assert variances[1] - variances[0] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.layer("diagnostics", "L15")
def test_an_average_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="with at least one draw, got shape"):
        simple_average([])
