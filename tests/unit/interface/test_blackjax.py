"""Kernels of BlackJAX in our driver, ours in BlackJAX's form: the same distribution and numbers."""

import functools
import warnings

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import auxmc
from auxmc.kernels.hamiltonian.hmc import hmc


@functools.cache
def model():
    """Independent normal variables of mean 1, one of variance 1 and one of variance 4."""
    variances = jnp.array([1.0, 4.0])
    return auxmc.density(lambda v: -0.5 * jnp.sum((v["x"] - 1.0) ** 2 / variances), {"x": [0.0, 0.0]})


def test_nuts_of_blackjax_draws_from_the_density():
    with jax.numpy_dtype_promotion("standard"):
        nuts = lambda density, step: blackjax.nuts(density, step, jnp.ones(2), max_num_doublings=5)
        method = auxmc.from_blackjax(model(), nuts)
        draws = auxmc.sample(method, draws=500, warm_up=300, chains=4, progress=False)
    x = draws["posterior"]["x"]
    assert x.dims == ("chain", "draw", "x_dim_0")
    np.testing.assert_allclose(x.mean(("chain", "draw")), [1.0, 1.0], atol=0.2)
    np.testing.assert_allclose(x.std(("chain", "draw")), [1.0, 2.0], rtol=0.12)
    stats = draws["sample_stats"]
    assert {"acceptance_rate", "diverging", "n_steps", "step_size"} <= set(stats.data_vars)
    assert 0.6 < float(stats["acceptance_rate"].mean()) < 0.97


def test_our_kernel_runs_as_one_of_blackjax():
    kernel = hmc(lambda x: -0.5 * jnp.sum(x["a"] ** 2) - 0.5 * x["b"] ** 2, 0.5, 5)
    start = {"a": jnp.ones(2), "b": jnp.ones(())}
    _, (states, infos) = blackjax.util.run_inference_algorithm(
        rng_key=jax.random.key(2), inference_algorithm=kernel, num_steps=1000, initial_position=start
    )
    np.testing.assert_allclose(states.position["a"].std(axis=0), 1.0, rtol=0.15)
    np.testing.assert_allclose(states.position["b"].std(), 1.0, rtol=0.15)
    assert infos.is_accepted.mean() > 0.7


@pytest.mark.parametrize(
    "make",
    [
        lambda density, step: blackjax.mclmc(density, 2.0, step),
        lambda density, step: blackjax.ghmc(density, step, jnp.ones(2), 0.5, 0.1),
        lambda density, step: blackjax.dynamic_hmc(density, step, jnp.ones(2)),
    ],
    ids=["mclmc", "ghmc", "dynamic_hmc"],
)
def test_algorithms_that_draw_a_part_of_their_initial_state_run(make, tmp_path):
    """Means of 2000 draws, within five standard errors at an effective size of 100: false alarm below 1e-5."""
    with jax.numpy_dtype_promotion("standard"):
        method = auxmc.from_blackjax(model(), make, step_size=0.6)
        run = functools.partial(auxmc.sample, method, draws=1000, warm_up=200, chains=2, progress=False)
        with warnings.catch_warnings(action="ignore"):
            x, again = (run(checkpoint=tmp_path)["posterior"]["x"] for _ in range(2))
    np.testing.assert_allclose(x.mean(("chain", "draw")), [1.0, 1.0], atol=1.0)
    np.testing.assert_array_equal(x, again)
    assert not np.array_equal(x[0, 0], x[1, 0])


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda density, step: 3, "got int"),
        (lambda density, step: blackjax.sgld(jax.grad(density)), "step also needs minibatch, step_size"),
        (lambda density, step: blackjax.svgd(jax.grad(density), optax.sgd(0.1)), "got "),
        (lambda density, step: blackjax.orbital_hmc(density, step, jnp.ones(2), 5), "got positions, "),
    ],
    ids=["number", "sgld", "svgd", "orbital_hmc"],
)
def test_what_is_not_an_mcmc_algorithm_is_rejected(make, got):
    expected = pytest.raises(TypeError, match=f"make: expected an MCMC algorithm of BlackJAX, .*{got}")
    with jax.numpy_dtype_promotion("standard"), expected:
        auxmc.from_blackjax(model(), make)


_hmc = lambda density, step: blackjax.hmc(density, step, jnp.ones(2), 5)


def test_settings_of_an_algorithm_are_checked():
    with pytest.raises(ValueError, match="step_size must be a positive number, got 0"):
        auxmc.from_blackjax(model(), _hmc, step_size=0.0)
    with pytest.raises(ValueError, match="target_acceptance must be between 0 and 1, got 80"):
        auxmc.from_blackjax(model(), _hmc, target_acceptance=80.0)


def test_divergences_and_sticking_of_blackjax_are_warned_of():
    """The advice is that for a density: it has no estimate whose variance could be smaller, and no energy in nats."""
    with jax.numpy_dtype_promotion("standard"):
        method = auxmc.from_blackjax(model(), _hmc, step_size=50.0)
        with pytest.warns(auxmc.SamplingWarning):
            tree = auxmc.sample(method, draws=40, warm_up=0, chains=2, progress=False)
    said = "\n".join(tree.attrs["warnings"])
    assert "80 of 80 trajectories diverged. Give a higher target_acceptance" in said
    assert "stayed the same for 40 of 40 draws" in said
    assert "give a smaller step_size or a higher target_acceptance" in said
    assert "an estimate with a smaller variance" not in said
