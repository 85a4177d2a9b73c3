"""Kernels of BlackJAX in our driver, ours in BlackJAX's form: the same law, and the same numbers as their own."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import auxmc
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo


def log_density(v: dict[str, jax.Array]) -> jax.Array:
    return -0.5 * jnp.sum((v["x"] - 1.0) ** 2 / jnp.array([1.0, 4.0]))


def test_nuts_of_blackjax_draws_from_the_density() -> None:
    model = auxmc.density(log_density, start={"x": [0.0, 0.0]})
    with jax.numpy_dtype_promotion("standard"):
        method = auxmc.from_blackjax(
            model, lambda density, step: blackjax.nuts(density, step, jnp.ones(2), max_num_doublings=5)
        )
        draws = auxmc.sample(method, draws=500, warm_up=300, chains=4, progress=False)
    x = draws["posterior"]["x"]
    assert x.dims == ("chain", "draw", "x_dim_0")
    np.testing.assert_allclose(x.mean(("chain", "draw")), [1.0, 1.0], atol=0.2)
    np.testing.assert_allclose(x.std(("chain", "draw")), [1.0, 2.0], rtol=0.12)
    stats = draws["sample_stats"]
    assert {"acceptance_rate", "diverging", "n_steps", "step_size"} <= set(stats.data_vars)
    assert 0.6 < float(stats["acceptance_rate"].mean()) < 0.97


def test_our_kernel_runs_as_one_of_blackjax() -> None:
    kernel = hamiltonian_monte_carlo(lambda x: -0.5 * jnp.sum(x**2), 0.5, 5, 2)
    algorithm = auxmc.to_blackjax(kernel)
    state, _ = algorithm.step(jax.random.key(1), algorithm.init(jnp.ones(2)))
    own, _ = kernel.step(jax.random.key(1), kernel.init(jax.random.key(0), jnp.ones(2)))
    np.testing.assert_array_equal(state.position, own.position)
    _, (states, infos) = blackjax.util.run_inference_algorithm(
        rng_key=jax.random.key(2), inference_algorithm=algorithm, num_steps=1000, initial_position=jnp.ones(2)
    )
    np.testing.assert_allclose(states.position.std(axis=0), 1.0, rtol=0.15)
    assert infos.accepted.mean() > 0.7


def test_what_is_no_algorithm_is_refused() -> None:
    model = auxmc.density(log_density, start={"x": [0.0, 0.0]})
    with pytest.raises(
        TypeError, match="make must return an algorithm of BlackJAX, with init and step, got int"
    ):
        auxmc.from_blackjax(model, lambda density, step: 3)
    with pytest.raises(ValueError, match="step_size must be a positive number, got 0"):
        auxmc.from_blackjax(model, lambda density, step: 3, step_size=0.0)
    with pytest.raises(ValueError, match="target_acceptance must be between 0 and 1, got 80"):
        auxmc.from_blackjax(
            model, lambda density, step: blackjax.hmc(density, step, jnp.ones(2), 5), target_acceptance=80.0
        )


def test_divergences_and_sticking_of_blackjax_are_warned_of() -> None:
    """The advice is that for a density: it has no estimate whose variance could be smaller, and no energy in nats."""
    model = auxmc.density(log_density, start={"x": [0.0, 0.0]})
    with jax.numpy_dtype_promotion("standard"):
        method = auxmc.from_blackjax(
            model, lambda density, step: blackjax.hmc(density, step, jnp.ones(2), 5), step_size=50.0
        )
        with pytest.warns(auxmc.SamplingWarning):
            tree = auxmc.sample(method, draws=40, warm_up=0, chains=2, progress=False)
    said = "\n".join(tree.attrs["warnings"])
    assert "80 of 80 trajectories diverged. Some part of the density is too narrow for the step size" in said
    assert "stayed the same for 40 of 40 draws" in said
    assert "with a smaller step_size or a higher target_acceptance" in said
    assert "an estimate with a smaller variance" not in said
