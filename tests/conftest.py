"""Settings that hold for every test: those of a run of a study, and strict promotion."""

import gc
import os
from pathlib import Path

from auxmc.driver.runtime import configure, has_xla_flag

# Most tests compile more than they run: without LLVM's optimisations, and with XLA's older code generator, small
# programs compile in two thirds of the time. `make test-all` and the studies that tests run from start to end use the
# programs of a real run, and so does a jaxlib that no longer has that code generator.
if "XLA_FLAGS" not in os.environ and has_xla_flag("xla_cpu_use_fusion_emitters"):
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
# Tracing leaves millions of objects that stay: to look through all of them as often as Python does takes a twentieth
# of the time.
gc.set_threshold(200_000, 20, 50)
# Before JAX is imported. Compiled programs are kept: a second run of the tests takes about half the time.
configure("cpu", Path(__file__).parents[1] / ".cache" / "programs_of_tests")

import jax
import pytest

from tests.statistical import levels

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture(autouse=True, scope="session")
def double_precision():
    """Every test relies on float64; a module that switched it off would make them meaningless."""
    assert jax.numpy.zeros(1).dtype == jax.numpy.float64


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Adds the statistical assertions of a worker of pytest-xdist."""
    levels.n_assertions += getattr(node, "workeroutput", {}).get("n_assertions", 0)


def pytest_sessionfinish(session):
    """Fails a run whose false-alarm probability, by Bonferroni's bound, is too large."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["n_assertions"] = levels.n_assertions
    elif levels.n_assertions * levels.ALPHA > levels.TOTAL_LEVEL:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Says how often a correct program fails such a run."""
    if n := levels.n_assertions:
        bound = f"{n} statistical assertions, false-alarm probability at most {n * levels.ALPHA:.2g}"
        terminalreporter.write_line(f"{bound} (allowed: {levels.TOTAL_LEVEL:g})")
