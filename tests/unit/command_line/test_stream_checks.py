"""What is told of a run before it begins."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.command_line.stream_checks import (
    RowCurvature,
    available_bytes,
    bias_per_row,
    needed_bytes,
    row_curvature,
    stability_limit,
)
from auxmc.kernels.streams.contract import StreamSettings
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.regression.linear_regression import linear_regression
from experiments.streaming_evidence.model import rows


def test_the_curvature_of_a_linear_model_is_the_second_moment_of_its_inputs() -> None:
    data = rows("linear", 500)
    inputs = np.column_stack([data[:, :-1], np.ones(500)])
    values = np.linalg.eigvalsh(inputs.T @ inputs / 500 / 0.5**2)
    found = row_curvature(linear_regression(5, 0.5), jnp.asarray(data), jax.random.key(1))
    assert found is not None
    np.testing.assert_allclose(found, (values[-1], values.sum()))


def test_the_published_settings_fall_short_by_the_known_amount() -> None:
    # 0.0015 nats a row for the linear model, whose information has trace 6.
    assert bias_per_row(StreamSettings(), RowCurvature(1.0, 6.0)) == pytest.approx(1.5e-3)
    for other in (
        {"resampling": "always"},
        {"control_variates": True},
        {"cooling_rows": 9},
        {"estimator": "sequential"},
    ):
        assert bias_per_row(StreamSettings(**other), RowCurvature(1.0, 6.0)) is None  # type: ignore[arg-type]
    assert stability_limit(StreamSettings()) == pytest.approx(36.0)


def test_memory_grows_with_what_it_is_needed_for() -> None:
    model, settings = gaussian_mixture(5), StreamSettings()
    needed = needed_bytes(model, settings, 500, jnp.float32)
    # Rows of all moves, two columns of four bytes and their numbers: the least that there must be.
    assert needed > 20 * 10 * 500 * (2 * 4 + 4)
    assert needed < 100 * 2**20
    for larger in (settings._replace(n_particles=1000), settings._replace(batch_size=50_000)):
        assert needed_bytes(model, larger, 500, jnp.float32) > 50 * needed
    assert needed_bytes(model, settings, 500, jnp.float64) > needed
    assert needed_bytes(model, RunningLaplaceSettings(), 500, jnp.float32) > 0
    free = available_bytes()
    assert free is None or 0 < free < 2**50
