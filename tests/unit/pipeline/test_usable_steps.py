"""The step at which acceptance rates fall to a target lies between those tried, with the error that chains give it."""

import numpy as np
import pytest
import xarray as xr

from auxmc_pipeline.tables import MissingData
from auxmc_pipeline.usable_steps import step_at_acceptance_rate, usable_step


def _rates(values: np.ndarray) -> xr.DataArray:
    return xr.DataArray(values, dims=("step_size", "chain"), coords={"step_size": [0.4, 0.1, 0.2]})


def test_steps_need_no_order_and_agreeing_chains_leave_no_error() -> None:
    found = usable_step(_rates(np.array([[0.8] * 3, [1.0] * 3, [0.95] * 3])))
    # 0.9 lies a third of the way from 0.95 at 0.2 to 0.8 at 0.4.
    assert found.value == pytest.approx(0.2 + 0.2 / 3.0)
    assert found.error == pytest.approx(0.0, abs=1e-12)


def test_the_error_is_the_spread_of_the_step_over_repeated_experiments() -> None:
    rng = np.random.default_rng(1)
    found = [
        usable_step(_rates(np.array([[0.7], [0.99], [0.95]]) + rng.normal(0.0, [[0.03]], (3, 20))))
        for _ in range(300)
    ]
    spread = np.std([measured.value for measured in found])
    assert np.mean([measured.error for measured in found]) == pytest.approx(spread, rel=0.2)


@pytest.mark.parametrize("rates", [[0.8, 0.7, 0.6], [0.99, 0.98, 0.97]])
def test_where_no_step_tried_has_the_rate_nothing_is_said(rates: list[float]) -> None:
    with pytest.raises(MissingData, match=r"does not cross 0\.9"):
        step_at_acceptance_rate(np.array([0.1, 0.2, 0.4]), np.array(rates))
