"""How JAX is set up: flags that this jaxlib has, and no settings for debugging while chains run."""

import os
import subprocess
import sys

import jax
import pytest

from auxmc.driver.runtime import has_xla_flag, leave_debugging

PROGRAM = """
import jax.numpy as jnp
import auxmc

model = auxmc.density(lambda v: 2.0 * jnp.log(v["x"]) - v["x"], start={"x": 1.0})
draws = auxmc.sample(auxmc.hmc(model), draws=5, warm_up=5, chains=1, progress=False)
print(draws["posterior"]["x"].size)
"""


def test_a_flag_is_set_only_where_this_jaxlib_has_it() -> None:
    assert has_xla_flag("xla_backend_optimization_level")
    assert not has_xla_flag("xla_backend_optimization_level_of_yesterday")
    assert not has_xla_flag("backend_optimization")


@pytest.mark.parametrize("name", ["jax_disable_jit", "jax_debug_nans", "jax_debug_infs"])
def test_settings_for_debugging_are_switched_off_with_a_word(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    jax.config.update(name, True)
    try:
        leave_debugging()
        assert not getattr(jax.config, name)
    finally:
        jax.config.update(name, False)
    assert f"auxmc: {name} is now False" in capfd.readouterr().err
    with getattr(jax, name.removeprefix("jax_"))(True), pytest.raises(RuntimeError, match="outside of it"):
        leave_debugging()


def test_chains_run_where_the_environment_asks_for_debugging() -> None:
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
