"""Synthetic series with known properties, for the tests of the diagnostics."""

import numpy as np
import pytest
from scipy.signal import lfilter


@pytest.fixture
def autoregression():
    """Maps (seed, coefficient, shape) to stationary Gaussian AR(1) series [..., draw] of unit variance."""

    def generate(seed, coefficient, shape):
        noise = np.random.default_rng(seed).normal(size=shape) * np.sqrt(1.0 - coefficient**2)
        noise[..., 0] /= np.sqrt(1.0 - coefficient**2)
        return lfilter([1.0], [1.0, -coefficient], noise, axis=-1)

    return generate
