"""The image model is a normalised density, and its bridge joins the posterior to the code."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from experiments.image_models.model import autoencoder

N_PIXELS, N_LATENT = 4, 3


def small_model(dtype=jnp.float64, n_pixels=N_PIXELS, n_latent=N_LATENT):
    rng = np.random.default_rng(5)
    model = autoencoder.initial_autoencoder(rng, rng.uniform(0.2, 0.8, n_pixels), 6, n_latent)
    # Biases too, which start at zero in training.
    return jax.tree.map(
        lambda a: jnp.asarray(a, dtype) + jnp.asarray(rng.normal(0.0, 0.3, a.shape), dtype),
        autoencoder.to_precision(model, dtype),
    )


def test_logits_are_those_of_the_layers_written_out():
    model, latent = small_model(), np.array([0.3, -1.0, 2.0])
    hidden = latent
    for layer in model.decoder[:2]:
        hidden = np.tanh(hidden @ np.asarray(layer.weights) + np.asarray(layer.biases))
    expected = hidden @ np.asarray(model.decoder[2].weights) + np.asarray(model.decoder[2].biases)
    np.testing.assert_allclose(autoencoder.logits(model, jnp.asarray(latent)), expected, rtol=1e-12)


def test_probabilities_of_all_images_add_up_to_one():
    model, latent = small_model(), jnp.array([0.5, 1.5, -0.7])
    images = jnp.array(list(itertools.product([0.0, 1.0], repeat=N_PIXELS)))
    logs = jax.vmap(lambda image: autoencoder.log_likelihood(model, image, latent))(images)
    assert float(jnp.sum(jnp.exp(logs))) == pytest.approx(1.0, abs=1e-12)
    on = expit(np.asarray(autoencoder.logits(model, latent)))
    assert float(logs[5]) == pytest.approx(np.log([1 - on[0], on[1], 1 - on[2], on[3]]).sum(), abs=1e-12)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_extreme_logits_give_finite_values_and_gradients(dtype):
    model = small_model(dtype)
    wide = jax.tree.map(lambda a: a * jnp.asarray(1e4, dtype), model.decoder[2])
    model = model._replace(decoder=(*model.decoder[:2], wide))
    image, latent = jnp.array([0.0, 1.0, 1.0, 0.0], dtype), jnp.ones(N_LATENT, dtype)
    value, slope = jax.jit(jax.value_and_grad(lambda z: autoencoder.log_likelihood(model, image, z)))(latent)
    assert value.dtype == slope.dtype == dtype
    assert np.isfinite(value)
    assert np.all(np.isfinite(slope))


def test_importance_weights_are_ratios_of_densities():
    model, image = small_model(), jnp.array([1.0, 0.0, 0.0, 1.0])
    noise = jnp.asarray(np.random.default_rng(1).normal(size=(5, N_LATENT)))
    code = autoencoder.encode(model, image)
    found = jax.jit(autoencoder.log_importance_weights)(model, image, noise)
    for value, standard in zip(found, noise, strict=True):
        latent = np.asarray(code.mean + code.scale * standard)
        expected = (
            float(autoencoder.log_likelihood(model, image, jnp.asarray(latent)))
            + stats.norm.logpdf(latent).sum()
            - stats.norm.logpdf(latent, code.mean, code.scale).sum()
        )
        assert float(value) == pytest.approx(expected, abs=1e-11)


def test_bridge_has_the_log_densities_of_posterior_and_code():
    model, image = small_model(), jnp.array([1.0, 1.0, 0.0, 1.0])
    code = autoencoder.encode(model, image)
    x = jnp.array([0.2, -0.4, 1.1])
    latent = code.mean + code.scale * x
    whitened = autoencoder.latent_bridge(model, image, code, jnp.asarray(-2.5))
    plain = autoencoder.latent_bridge(model, image, code, jnp.asarray(-2.5), whitened=False)
    joint = (
        float(autoencoder.log_likelihood(model, image, latent)) + stats.norm.logpdf(np.asarray(latent)).sum()
    )
    target, base = plain.log_densities(latent)
    assert float(plain.log_zeta) == float(whitened.log_zeta) == -2.5
    assert float(target) == pytest.approx(joint, abs=1e-12)
    expected = stats.norm.logpdf(np.asarray(latent), code.mean, code.scale).sum()
    assert float(base) == pytest.approx(expected, abs=1e-12)
    # Whitening adds the log of the volume to both, so that their difference stays.
    target, base = whitened.log_densities(x)
    assert float(base) == pytest.approx(stats.norm.logpdf(np.asarray(x)).sum(), abs=1e-12)
    difference = jnp.subtract(*plain.log_densities(latent))
    assert float(target - base) == pytest.approx(float(difference), abs=1e-11)
    np.testing.assert_allclose(plain.draw_base(x), latent, rtol=1e-12)


def test_gradients_are_those_of_finite_differences():
    model, image = small_model(), jnp.array([0.0, 1.0, 0.0, 1.0])
    bridge = autoencoder.latent_bridge(model, image, autoencoder.encode(model, image), jnp.asarray(0.0))
    x, step = np.array([0.1, 0.7, -1.2]), 1e-6
    _, slopes = bridge.log_densities_and_gradients(jnp.asarray(x))
    for part, slope in enumerate(slopes):
        for i in range(N_LATENT):
            ends = [
                bridge.log_densities(jnp.asarray(x + sign * step * np.eye(N_LATENT)[i]))[part]
                for sign in (1, -1)
            ]
            assert float(slope[i]) == pytest.approx(float(ends[0] - ends[1]) / (2 * step), abs=1e-7)


def test_evidence_by_quadrature_is_the_limit_of_tempering_weights():
    # With one latent number the normaliser along the path is an integral on a line.
    model = small_model(n_latent=1)
    image = jnp.array([1.0, 0.0, 1.0, 1.0])
    grid = jnp.linspace(-9.0, 9.0, 4001)
    code = autoencoder.encode(model, image)
    bridge = autoencoder.latent_bridge(model, image, code, jnp.asarray(0.0))
    target, base = jax.jit(jax.vmap(lambda x: bridge.log_densities(x[None])))(grid)
    spacing = float(grid[1] - grid[0])
    assert float(jnp.sum(jnp.exp(base))) * spacing == pytest.approx(1.0, abs=1e-9)
    weigh = jax.jit(jax.vmap(lambda x: autoencoder.log_importance_weights(model, image, x[None, None])[0]))
    weights = weigh(grid)
    by_weights = float(jnp.sum(jnp.exp(weights + base))) * spacing
    latents = np.linspace(-9.0, 9.0, 4001)
    likelihood = jax.jit(jax.vmap(lambda z: autoencoder.log_likelihood(model, image, z[None])))
    logs = np.asarray(likelihood(jnp.asarray(latents)))
    prior = np.sum(np.exp(logs) * stats.norm.pdf(latents)) * spacing
    assert float(jnp.sum(jnp.exp(target))) * spacing == pytest.approx(prior, rel=1e-8)
    assert by_weights == pytest.approx(prior, rel=1e-8)


def test_single_precision_is_kept_and_close():
    double, single = small_model(n_pixels=784, n_latent=50), small_model(jnp.float32, 784, 50)
    image = (np.random.default_rng(2).uniform(size=784) < 0.3).astype(float)
    x = np.random.default_rng(3).normal(size=50)
    values = {}
    for model, dtype in ((double, jnp.float64), (single, jnp.float32)):

        @jax.jit
        def evaluate(binary, x, model=model):
            bridge = autoencoder.latent_bridge(
                model, binary, autoencoder.encode(model, binary), jnp.zeros((), binary.dtype)
            )
            return bridge.log_densities_and_gradients(x)

        (target, base), slopes = evaluate(jnp.asarray(image, dtype), jnp.asarray(x, dtype))
        assert {target.dtype, base.dtype, slopes[0].dtype, slopes[1].dtype} == {np.dtype(dtype)}
        values[dtype] = (float(target), float(base))
    np.testing.assert_allclose(values[jnp.float32], values[jnp.float64], rtol=1e-5)


def test_many_images_take_one_matrix_product_a_layer():
    model, n = small_model(), 7
    images = jnp.zeros((n, N_PIXELS))
    codes = jax.vmap(lambda image: autoencoder.encode(model, image))(images)

    def gradients(x):
        def one(x, image, mean, scale):
            bridge = autoencoder.latent_bridge(model, image, autoencoder.Code(mean, scale), jnp.asarray(0.0))
            return bridge.log_densities_and_gradients(x)[1][0]

        return jax.vmap(one)(x, images, *codes)

    program = jax.jit(gradients).lower(jnp.zeros((n, N_LATENT))).as_text()
    products = [line for line in program.splitlines() if "dot_general" in line]
    assert len(products) == 6  # three layers, there and back
    assert all(f"tensor<{n}x" in line.split("->")[1] for line in products)
    assert not any("batching_dims" in line for line in products)


def test_training_starts_from_the_mean_image():
    mean = np.array([0.0, 0.5, 0.25, 1.0])
    model = autoencoder.initial_autoencoder(np.random.default_rng(0), mean, 6, 2)
    np.testing.assert_allclose(
        expit(np.asarray(model.decoder[2].biases)), [0.001, 0.5, 0.25, 0.999], rtol=1e-5
    )
    limit = math.sqrt(6.0 / (2 + 6))
    assert float(jnp.max(jnp.abs(model.decoder[0].weights))) <= limit
