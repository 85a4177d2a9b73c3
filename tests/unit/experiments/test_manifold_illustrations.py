"""The fibre is the published one, and claims measure what the tables hold."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from experiments.manifold_illustrations.claims import MEASURE
from experiments.manifold_illustrations.figures import DRAW
from experiments.manifold_illustrations.run import fibre_height


def table(rates: dict[float, list[float]]) -> pd.DataFrame:
    rows = [("branch_changes_per_iteration", noise, v) for noise, values in rates.items() for v in values]
    return pd.DataFrame(rows, columns=["quantity", "noise", "value"])


def test_the_fibre_passes_through_the_published_points() -> None:
    first = jnp.array([0.15, 0.56, 1.6, 4.0])
    np.testing.assert_allclose(fibre_height(first), [3.9, 0.0, -1.19, -1.17], atol=0.02)


def test_changes_of_branch_become_claims() -> None:
    found = MEASURE["IM-IL-02"](table({0.0: [0.0, 0.0], 0.5: [0.1, 0.3], 2.0: [0.4, 0.6]}), pd.DataFrame())
    assert found["exact"].value == 0.0
    assert found["noisy"].value == pytest.approx(0.5)
    assert found["falls"].value == pytest.approx(0.4)
    assert found["falls"].error == pytest.approx(np.hypot(0.1 / 0.5, 0.4 * 0.1 / 0.5))


def test_without_any_change_the_ratio_is_unknown() -> None:
    found = MEASURE["IM-IL-02"](table({0.0: [0.0, 0.0], 0.5: [0.0, 0.0], 2.0: [0.0, 0.0]}), pd.DataFrame())
    assert np.isnan(found["falls"].value)


def test_unit_densities_have_unit_variance() -> None:
    panel = DRAW["fig_d_1"](pd.DataFrame(), pd.DataFrame()).axes[0]
    for line in panel.lines:
        u, density = line.get_data()
        assert np.trapezoid(density, u) == pytest.approx(1.0, abs=1e-3)
        assert np.trapezoid(u**2 * density, u) == pytest.approx(1.0, abs=0.02)
