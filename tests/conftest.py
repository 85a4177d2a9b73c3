"""Settings that hold for every test: float64, strict promotion, one thread."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
    os.environ[_name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import pytest

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture(autouse=True, scope="session")
def double_precision() -> None:
    """Every test relies on float64; a module that switched it off would make them meaningless."""
    assert jax.numpy.zeros(1).dtype == jax.numpy.float64
