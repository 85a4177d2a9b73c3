"""Lanes on four devices give the numbers of one device, also after a stop."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from auxmc.driver.devices import lane_sharding, over_devices

PROGRAM = """
import sys
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
from auxmc.driver.runtime import configure
configure("cpu")
from auxmc.driver.blocks import Sampler
from auxmc.driver.chains import RunContext, run_chains
from auxmc.driver.devices import lane_sharding, over_devices
from auxmc.kernels.base import Kernel

mix = jnp.asarray(np.random.default_rng(1).normal(size=(10, 10)) / 10.0)


def build(parameters):
    def apply(noise, state):
        state = jnp.tanh(mix @ state) * parameters["scale"] + noise
        return state, state.sum()
    return Kernel(lambda _, position: position, lambda key: jax.random.normal(key, (10,), jnp.float64), apply)


sampler = Sampler(
    build, lambda key, _: jax.random.normal(key, (10,), jnp.float64), lambda state, info: {"x": state}
)
out, folder, n_devices = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
assert len(jax.devices()) == n_devices
assert (lane_sharding(over_devices(jnp.zeros(8))) is not None) == (n_devices > 1)


class Stop(Exception):
    pass


def stopping(*_):
    raise Stop


from auxmc.driver import blocks
context = RunContext("s", 1, folder, "x", "test")
run = lambda: run_chains(
    context, ("c",), sampler, n_draws=30, n_chains=4, sweep={"scale": [0.5, 0.9]}, block_size=10
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


def draws_on(n_devices: int, folder: Path) -> np.ndarray:
    out = folder / f"{n_devices}.npy"
    environment = os.environ | {"XLA_FLAGS": f"--xla_force_host_platform_device_count={n_devices}"}
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        str(out),
        str(folder / f"checkpoints-{n_devices}"),
        str(n_devices),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    array: np.ndarray = np.load(out)
    return array


def test_four_devices_give_the_numbers_of_one(tmp_path: Path) -> None:
    one, four = (draws_on(n_devices, tmp_path) for n_devices in (1, 4))
    assert one.shape == (2, 4, 30, 10)
    # A device multiplies fewer lanes at a time: the last bits may differ.
    np.testing.assert_allclose(four, one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_lanes", [1, 8])
def test_lanes_of_one_device_are_left_as_they_are(n_lanes: int) -> None:
    lanes = {"a": np.zeros(n_lanes)}
    assert over_devices(lanes) is lanes
    assert lane_sharding(lanes) is None
