"""How JAX is set up: flags that this jaxlib has, no settings for debugging while chains run, several devices."""

import os
import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.driver import runtime
from auxmc.driver.blocks import lane_sharding, over_devices
from auxmc.driver.progress import Progress
from auxmc.driver.runtime import has_xla_flag, leave_debugging
from auxmc_pipeline.chains import run_chains
from auxmc_pipeline.settings import CaseSettings
from tests.copies import python_path
from tests.unit.driver.test_blocks import Interrupted, _context, _walk

PROGRAM = """
import jax.numpy as jnp
import auxmc

model = auxmc.density(lambda v: 2.0 * jnp.log(v["x"]) - v["x"], start={"x": 1.0})
draws = auxmc.sample(auxmc.hmc(model), draws=5, warm_up=5, chains=1, progress=False)
print(draws["posterior"]["x"].size)
"""


def run_python(code, settings, *words):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *words],
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )


def test_a_flag_is_set_only_where_this_jaxlib_has_it():
    assert has_xla_flag("xla_backend_optimization_level")
    assert not has_xla_flag("xla_backend_optimization_level_of_yesterday")
    assert not has_xla_flag("backend_optimization")


@pytest.mark.parametrize("name", ["jax_disable_jit", "jax_debug_nans", "jax_debug_infs"])
def test_settings_for_debugging_are_switched_off_with_a_word(name, capfd):
    jax.config.update(name, True)
    try:
        leave_debugging()
        assert not getattr(jax.config, name)
    finally:
        jax.config.update(name, False)
    assert f"auxmc: {name} is now False" in capfd.readouterr().err
    rejected = pytest.raises(RuntimeError, match="call auxmc outside")
    with getattr(jax, name.removeprefix("jax_"))(True), rejected:
        leave_debugging()


def test_chains_run_where_the_environment_asks_for_debugging():
    settings = dict.fromkeys(("JAX_ENABLE_X64", "JAX_DISABLE_JIT", "JAX_DEBUG_NANS", "JAX_DEBUG_INFS"), "1")
    done = run_python(PROGRAM, settings | {"JAX_PLATFORMS": "cpu"})
    assert done.stdout == "5\n", done.stderr
    assert done.stderr.count("is now False") == 3


# --- devices ------------------------------------------------------------------------------------------


def resumed_draws(folder, n_devices):
    """Draws [sweep, chain, draw, dim] of a run that is stopped after its first block and resumed."""
    assert len(jax.devices()) == n_devices
    assert (lane_sharding(over_devices(jnp.zeros(8))) is not None) == (n_devices > 1)
    context, settings = _context(folder), CaseSettings(n_draws=30, n_chains=4, block_size=10)
    run = partial(run_chains, context, ("c",), _walk(1.0), settings, sweep={"scale": [0.5, 0.9]})

    def stop(*_):
        raise Interrupted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Progress, "advance", stop)
        with pytest.raises(Interrupted):
            run()
    draws = run().draws["x"]
    assert context.n_resumed == 10
    return draws


ON_FOUR = """
import sys
from pathlib import Path
from auxmc.driver.runtime import configure
configure("cpu")
import numpy as np
from tests.unit.driver.test_runtime import resumed_draws
np.save(sys.argv[1], resumed_draws(Path(sys.argv[2]), 4))
"""


def test_four_devices_give_the_numbers_of_one(tmp_path):
    settings = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "PYTHONPATH": python_path()}
    done = run_python(ON_FOUR, settings, str(tmp_path / "four.npy"), str(tmp_path / "four"))
    assert done.returncode == 0, done.stderr
    one = resumed_draws(tmp_path / "one", 1)
    assert one.shape == (2, 4, 30, 10)
    # A device multiplies fewer lanes at a time: the last bits may differ.
    np.testing.assert_allclose(np.load(tmp_path / "four.npy"), one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_lanes", [1, 8])
def test_lanes_of_one_device_are_left_as_they_are(n_lanes):
    lanes = {"a": np.zeros(n_lanes)}
    assert over_devices(lanes) is lanes
    assert lane_sharding(lanes) is None


@pytest.mark.parametrize(
    ("flags", "compiles_fast", "once", "level"),
    [
        ("", False, False, "2"),
        ("", False, True, "0"),
        ("--xla_backend_optimization_level=2", False, True, None),
        ("--xla_backend_optimization_level=2", True, True, "0"),
        ("--xla_backend_optimization_level=2", True, False, None),
    ],
)
def test_programs_that_run_once_are_optimised_if_bits_count(monkeypatch, flags, compiles_fast, once, level):
    monkeypatch.setenv("XLA_FLAGS", flags)
    monkeypatch.setattr(runtime, "_compiles_fast", compiles_fast)
    assert runtime.compiler_options(once=once).get("xla_backend_optimization_level") == level
