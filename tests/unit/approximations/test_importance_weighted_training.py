"""Training by importance weights, and the script that does it."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import train_image_models
from importance_weighted_training import Stage, importance_weighted_bound, published_stages, train

from experiments.image_models.model.autoencoder_weights import read_autoencoder, read_training_curve

KEY = jax.random.key(4)


def log_weights(parameters, image, noise):
    """Pixels that are on independently with the same probability; the latent vector is idle, its base not the prior."""
    on = parameters["level"]
    likelihood = jnp.sum(image * on - jnp.logaddexp(jnp.zeros((), on.dtype), on))
    shift = parameters["shift"]
    return likelihood - jnp.sum(noise * shift[None] + 0.5 * jnp.square(shift)[None], axis=-1)


def start():
    return {"level": jnp.zeros(4, jnp.float32), "shift": jnp.ones(2, jnp.float32)}


def grey(n):
    levels = np.array([0.0, 0.25, 0.5, 1.0])
    return np.tile(np.round(255 * levels).astype(np.uint8), (n, 1))


def test_stages_are_the_published_ones():
    n_epochs, rates = zip(*published_stages(), strict=True)
    assert sum(n_epochs) == 3280
    np.testing.assert_allclose(
        rates, [1e-3, 7.2e-4, 5.2e-4, 3.7e-4, 2.7e-4, 1.9e-4, 1.4e-4, 1e-4], rtol=1e-12
    )


def test_fewer_stages_keep_both_ends():
    assert published_stages(2) == (Stage(1, 1e-3), Stage(3, 1e-4))
    with pytest.raises(ValueError, match="n_stages must be at least 2, got 1"):
        published_stages(1)


def test_bound_is_the_log_of_the_mean():
    logs = jnp.array([-800.0, -801.0, -799.5])
    expected = -800.0 + np.log(np.mean(np.exp([0.0, -1.0, 0.5])))
    assert float(importance_weighted_bound(logs)) == pytest.approx(expected, abs=1e-10)


def run(**changes):
    arguments = {
        "key": KEY, "n_latent": 2, "stages": (Stage(6, 0.05), Stage(2, 0.005)), "n_importance": 3, "batch_size": 10,
    }  # fmt: skip
    return train(start(), log_weights, grey(200), grey(20), **(arguments | changes))


@pytest.fixture(scope="module")
def trained():
    seen = []
    return *run(report=lambda done, _: seen.append(done)), seen


def test_training_finds_the_levels_and_the_posterior(trained):
    parameters, curve, seen = trained
    assert seen == [1, 2, 3, 4, 5, 6, 7, 8]
    assert curve.n_not_finite == 0
    assert curve.objective[-1] > curve.objective[0] + 1.0
    assert curve.held_out.shape == (8,)
    on = jax.nn.sigmoid(parameters["level"])
    assert float(on[0]) < 0.1 < 0.15 < float(on[1]) < 0.35 < float(on[3]) > 0.9
    assert float(jnp.max(jnp.abs(parameters["shift"]))) < 0.5
    assert parameters["level"].dtype == jnp.float32


def test_steps_without_finite_numbers_change_nothing_and_are_counted():
    def broken(parameters, image, noise):
        lost = jnp.where(noise[0, 0] > 3.0, jnp.float32(jnp.nan), 0.0)
        return log_weights(parameters, image, noise) + lost

    parameters, curve = train(
        start(), broken, grey(4000), grey(20), key=KEY, n_latent=2, stages=(Stage(1, 0.05),), batch_size=20
    )
    assert 0 < curve.n_not_finite < 200
    assert np.isfinite(curve.objective[0])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(parameters))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 201}, "needs batch_size=201 images or more and a held-out one, got 200 and 20"),
        ({"n_importance": 0}, "must be at least 1"),
        ({"stages": ()}, "number of stages must be at least 1"),
    ],
)
def test_impossible_sizes_are_rejected(changes, message):
    with pytest.raises(ValueError, match=message):
        run(**changes)


def run_script(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["train_image_models.py", *map(str, arguments)])
    return train_image_models.main()


def test_images_of_ones_own_become_weights(tmp_path, monkeypatch):
    bars = np.zeros((60, 4, 4), np.uint8)
    bars[::2, 1] = 255
    bars[1::2, :, 2] = 255
    np.save(tmp_path / "bars.npy", bars.reshape(60, 16))
    output = tmp_path / "weights.npz"
    sizes = ("--stages", "2", "--hidden", "5", "--latent", "2", "--importance", "2")
    assert run_script(monkeypatch, tmp_path / "bars.npy", "--output", output, *sizes) == 0
    model = read_autoencoder("own_digits", str(output))
    assert (model.n_latent, model.n_pixels) == (2, 16)
    assert read_training_curve(output)["objective"].shape == (4,)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((30, 10), np.uint8), "must be a .npy file of square grey images"),
        (np.zeros((30, 9)), r"has shape [30, 9] and type float64"),
        (np.zeros((12, 9), np.uint8), "needs batch_size=20 images or more and a held-out one, got 11 and 1"),
    ],
)
def test_other_images_are_rejected(tmp_path, monkeypatch, capsys, images, message):
    np.save(tmp_path / "images.npy", images)
    assert run_script(monkeypatch, tmp_path / "images.npy", "--output", tmp_path / "w.npz") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "w.npz").exists()


def test_an_output_is_needed_for_images_of_ones_own(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run_script(monkeypatch, "images.npy")
    assert "--output FILE.npz is needed" in capsys.readouterr().err
