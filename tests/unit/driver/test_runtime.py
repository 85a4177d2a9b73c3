"""How JAX is set up: flags that this jaxlib has, no settings for debugging while chains run, several devices."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from auxmc.driver.blocks import lane_sharding, over_devices
from auxmc.driver.runtime import has_xla_flag, leave_debugging
from tests.copies import python_path

PROGRAM = """
import jax.numpy as jnp
import auxmc

model = auxmc.density(lambda v: 2.0 * jnp.log(v["x"]) - v["x"], start={"x": 1.0})
draws = auxmc.sample(auxmc.hmc(model), draws=5, warm_up=5, chains=1, progress=False)
print(draws["posterior"]["x"].size)
"""


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
    with (
        getattr(jax, name.removeprefix("jax_"))(True),
        pytest.raises(RuntimeError, match="call auxmc outside"),
    ):
        leave_debugging()


def test_chains_run_where_the_environment_asks_for_debugging():
    settings = {"JAX_DISABLE_JIT": "1", "JAX_DEBUG_NANS": "1", "JAX_DEBUG_INFS": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "5\n", done.stderr
    assert done.stderr.count("is now False") == 3


# --- devices ------------------------------------------------------------------------------------------

LANES = """
import sys
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
from auxmc.driver.runtime import configure
configure("cpu")
from auxmc.driver import blocks
from auxmc.driver.chains import run_chains
from auxmc.driver.blocks import lane_sharding, over_devices
from tests.unit.driver.test_blocks import _context, _walk

out, folder, n_devices = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
assert len(jax.devices()) == n_devices
assert (lane_sharding(over_devices(jnp.zeros(8))) is not None) == (n_devices > 1)


class Stop(Exception):
    pass


def stopping(*_):
    raise Stop


context = _context(folder)
run = lambda: run_chains(
    context, ("c",), _walk(1.0), n_draws=30, n_chains=4, sweep={"scale": [0.5, 0.9]}, block_size=10
)
advance = blocks.Progress.advance
blocks.Progress.advance = stopping
try:
    run()
except Stop:
    pass
blocks.Progress.advance = advance
draws = run().draws
assert context.n_resumed == 10
np.save(out, draws["x"])
"""


def draws_on(n_devices, folder):
    out = folder / f"{n_devices}.npy"
    flags = f"--xla_force_host_platform_device_count={n_devices}"
    words = [str(out), str(folder / f"checkpoints-{n_devices}"), str(n_devices)]
    done = subprocess.run(
        [sys.executable, "-c", LANES, *words],
        env=os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return np.load(out)


def test_four_devices_give_the_numbers_of_one(tmp_path):
    one, four = (draws_on(n_devices, tmp_path) for n_devices in (1, 4))
    assert one.shape == (2, 4, 30, 10)
    # A device multiplies fewer lanes at a time: the last bits may differ.
    np.testing.assert_allclose(four, one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_lanes", [1, 8])
def test_lanes_of_one_device_are_left_as_they_are(n_lanes):
    lanes = {"a": np.zeros(n_lanes)}
    assert over_devices(lanes) is lanes
    assert lane_sharding(lanes) is None
