"""The evidence of a stream is right within its error, continues where it stopped, and bad input is named."""

import math
import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import auxmc
from auxmc.interface.checks.normalisation import advise_constant
from auxmc.interface.streams.rows import checked_model, read_rows
from auxmc.kernels.streams.growing_data import GrowingDataSettings, growing_data_evidence
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.row_model import row_model as vector_row_model
from auxmc.models.user_model import program_digest
from tests.exact_posteriors import linear_log_evidence, tempered_posterior

RNG = np.random.default_rng(5)
X = RNG.normal(size=(150, 2))
ROWS = np.column_stack([X, X @ [1.0, -0.5] + 0.3 + RNG.normal(size=150)])


def linear(prior_constant=0.0):
    def log_likelihood(p, rows):
        residual = rows[:, -1] - rows[:, :-1] @ p["slope"] - p["intercept"]
        return -0.5 * residual**2 - 0.5 * math.log(2.0 * math.pi)

    def log_prior(p):
        return -0.5 * (jnp.sum(p["slope"] ** 2) + p["intercept"] ** 2) + prior_constant

    def draw_prior(key):
        numbers = jax.random.normal(key, (3,))
        return {"slope": numbers[:2], "intercept": numbers[2]}

    return auxmc.row_model(log_likelihood, log_prior, draw_prior)


@pytest.fixture(scope="module")
def whole():
    # The prior lacks its constant, which is no matter.
    return auxmc.stream_evidence(linear(), ROWS, chunk=60, progress=False)


def test_the_evidence_is_right_within_its_error(whole):
    assert whole.warnings == ()
    assert whole.record["n_rows"].to_numpy().tolist() == [60, 120, 150]
    errors = whole.record["standard_error"].to_numpy()
    exact = [linear_log_evidence(ROWS[:n]) for n in (60, 120, 150)]
    assert 0.0 < errors.min() <= errors.max() < 0.5
    assert np.all(np.abs(whole.record["log_evidence"] - exact) < 3.0 * errors)
    assert whole.log_evidence == float(whole.record["log_evidence"][-1])
    # Of all rows too, though the last chunk is short: they were those of 120 rows, and draws of the prior for 50.
    mean = float(jax.nn.logsumexp(jnp.asarray(whole.replicates)) - math.log(8))
    assert mean == pytest.approx(whole.log_evidence, rel=1e-12)
    assert "log evidence of 150 rows" in str(whole)
    assert repr(linear()) == "RowsModel of intercept, slope (3 numbers)"


def test_draws_come_with_the_names_of_the_parameters(whole):
    posterior = whole.posterior["posterior"]
    assert posterior["slope"].dims == ("chain", "draw", "slope_dim_0")
    assert posterior["intercept"].shape == (8, 100)
    mean, _ = tempered_posterior(ROWS, np.ones(150))
    found = [*posterior["slope"].mean(("chain", "draw")).to_numpy(), float(posterior["intercept"].mean())]
    np.testing.assert_allclose(found, mean, atol=0.05)


def test_models_are_compared_with_an_error(whole):
    other = whole._replace(log_evidence=whole.log_evidence - 3.0, standard_error=0.4)
    factor, error = whole.log_bayes_factor(other)
    assert factor == pytest.approx(3.0)
    assert error == pytest.approx(math.hypot(0.4, whole.standard_error))
    with pytest.raises(ValueError, match="evidences of 150 and of 100 rows cannot be compared"):
        whole.log_bayes_factor(other._replace(n_rows=100))
    with pytest.raises(TypeError, match=r"other must be what auxmc\.stream_evidence makes, got float"):
        whole.log_bayes_factor(3.0)


@pytest.mark.slow
def test_a_stream_goes_on_and_does_not_depend_on_how_rows_come(tmp_path):
    settings = RunningLaplaceSettings(n_particles=20, n_draws=20, n_moves=1, n_leapfrog=3)
    options = {"chunk": 40, "replicates": 2, "settings": settings, "progress": False}
    once = auxmc.stream_evidence(linear(), ROWS, **options)
    run = partial(auxmc.stream_evidence, linear(), **options, checkpoint=tmp_path)
    run(ROWS[:90])
    continued = run(iter([ROWS[:7], ROWS[7:110], ROWS[110:]]))
    np.testing.assert_array_equal(continued.record["log_evidence"], once.record["log_evidence"])
    np.testing.assert_array_equal(continued.posterior["posterior/slope"], once.posterior["posterior/slope"])
    later = ROWS.copy()
    later[7, 1] += 1.0
    for other in (ROWS + 1.0, later):
        with pytest.raises(ValueError, match=r"holds a run of something else .*: give another folder, or"):
            run(other)
    behind = ROWS.copy()
    behind[97, 1] += 1.0
    with pytest.raises(ValueError, match="one of the 120 rows that were absorbed before has changed: give"):
        run(iter([behind[:50], behind[50:]]))
    with pytest.raises(ValueError, match="120 rows were absorbed before, but rows has 90: give all rows"):
        run(ROWS[:90])
    np.testing.assert_array_equal(run(ROWS).record["log_evidence"], once.record["log_evidence"])


def test_numbers_that_a_compiled_function_holds_are_part_of_the_model():
    """A function under `jax.jit` holds arrays where its outer program does not show them."""

    def model(scale):
        scales = jnp.full(3, scale)
        log_likelihood = jax.jit(lambda p, rows: -0.5 * ((rows[:, 0] - p[0]) / scales[0]) ** 2)
        draw_prior = lambda key: jax.random.normal(key, (1,))
        return vector_row_model(1, 2, log_likelihood, lambda p: -0.5 * p[0] ** 2, draw_prior)

    assert program_digest(model(1.0)) == program_digest(model(1.0))
    assert program_digest(model(1.0)) != program_digest(model(1.0 + 1e-9))


def test_rows_are_read_in_order_whatever_they_come_in():
    for given in (ROWS, ROWS.tolist(), [ROWS[:60], ROWS[60:]], iter([ROWS[:60], ROWS[60:]])):
        rows = read_rows(given, 20)
        assert (rows.n_columns, len(rows.first)) == (3, 20)
        np.testing.assert_array_equal(np.concatenate(list(rows.read(33))), ROWS[33:])


def test_a_model_that_is_wrong_is_named(tmp_path):
    good = linear()
    with pytest.raises(TypeError, match=r"model must be what auxmc\.row_model"):
        auxmc.stream_evidence(lambda: 1, ROWS)
    for log_likelihood, message in (
        (lambda p, rows: jnp.sum(rows), r"must return a number for each row \[row\], shape \[150\]"),
        (lambda p, rows: np.exp(rows[:, 0] - p["intercept"]), "uses NumPy.*use jax.numpy"),
        (lambda p, rows: rows[:, 0] * p["scale"], "asks for 'scale', which is not there"),
        (
            lambda p, rows: rows[:, 5] * p["intercept"],
            r"reads what rows do not have: they have columns 0 to 2 \(index 5 is out of bounds",
        ),
    ):
        with pytest.raises((ValueError, TypeError), match=f"log_likelihood {message}"):
            auxmc.stream_evidence(good._replace(log_likelihood=log_likelihood), ROWS)
    with pytest.raises(ValueError, match="log_prior must return one number, in nats, got shape"):
        auxmc.row_model(good.log_likelihood, lambda p: p["slope"], good.draw_prior)
    random = lambda key: {"slope": RNG.normal(size=2), "intercept": 0.0}
    with pytest.raises(ValueError, match="draw_prior gives other numbers for the same key"):
        auxmc.row_model(good.log_likelihood, good.log_prior, random)
    with pytest.raises(ValueError, match="draw_prior gives the same numbers for every key"):
        auxmc.row_model(good.log_likelihood, good.log_prior, lambda key: good.draw_prior(jax.random.key(0)))
    with pytest.raises(TypeError, match="log_likelihood must be a function that maps parameters and rows"):
        auxmc.row_model(1, good.log_prior, good.draw_prior)
    with pytest.raises(ValueError, match="replicates must be an integer, at least 2: their spread is"):
        auxmc.stream_evidence(good, ROWS, replicates=1)
    with pytest.raises(ValueError, match="chunk must be an integer, at least 1, got 0"):
        auxmc.stream_evidence(good, ROWS, chunk=0)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match=r"checkpoint must be a folder, .*file is a file: give another path"):
        auxmc.stream_evidence(good, ROWS, checkpoint=tmp_path / "file")


def test_a_class_that_is_none_is_warned_of():
    """Label 5 of two classes counted as the last one, without a word."""
    model = auxmc.row_model(
        lambda p, rows: jax.nn.log_softmax(p["w"])[rows[:, 0].astype(int)],
        lambda p: -0.5 * jnp.sum(p["w"] ** 2),
        lambda key: {"w": jax.random.normal(key, (2,))},
    )
    for label, warned in ((1.0, False), (5.0, True)):
        rows = read_rows(np.array([[0.0], [1.0], [label]]), 10)
        _, said = checked_model(model, rows, jax.random.key(0))
        assert any("reads an array beyond its end" in one.text for one in said) == warned


_normal = lambda key: jax.random.normal(key, (5,))
_exponential = lambda key: jax.random.exponential(key, (5,))
_ROOT = np.linalg.cholesky(0.01 * np.eye(5) + 0.99)
_T3 = float(jax.scipy.stats.t.logpdf(0.0, 3.0))
PRIORS = {
    "normal": (lambda v: -0.5 * jnp.sum(v**2), _normal, 2.5 * math.log(2.0 * math.pi)),
    "exponential": (lambda v: jnp.where(jnp.all(v > 0.0), -jnp.sum(v), -jnp.inf), _exponential, 0.0),
    "log exponential": (lambda v: jnp.sum(v - jnp.exp(v)), lambda key: jnp.log(_exponential(key)), 0.0),
    "uniform": (
        lambda v: jnp.where(jnp.all((v > 0.0) & (v < 2.0)), 0.0, -jnp.inf),
        lambda key: 2.0 * jax.random.uniform(key, (5,)),
        5.0 * math.log(2.0),
    ),
    "Student": (
        lambda v: jnp.sum(jax.scipy.stats.t.logpdf(v, 3.0) - _T3),
        lambda key: jax.random.t(key, 3.0, (5,)),
        -5.0 * _T3,
    ),
    "dependent": (
        lambda v: -0.5 * jnp.sum(jnp.linalg.solve(_ROOT, v) ** 2),
        lambda key: jnp.asarray(_ROOT) @ _normal(key),
        2.5 * math.log(2.0 * math.pi) + float(np.sum(np.log(np.diag(_ROOT)))),
    ),
}


@pytest.mark.parametrize("name", PRIORS)
def test_a_constant_that_a_log_prior_lacks_is_found(name):
    log_prior, draw_prior, constant = PRIORS[name]
    for off in (0.0, constant or 10.0):
        shifted = lambda v, off=off: log_prior(v) + off - constant
        for seed in range(3 if off else 5):
            said = advise_constant(shifted, draw_prior, 5, jax.random.key(seed))
            texts = " ".join(one.text for one in said)
            found = re.findall(r"log_prior seems not to be normalised: .*? is (\S+) \+- ", texts)
            assert len(said) == len(found) == (off != 0.0)
            assert [float(one) for one in found] == pytest.approx([off] * len(said), abs=0.2)


def test_nothing_is_said_where_the_constant_is_not_known():
    log_prior = lambda v: jnp.sum(jax.scipy.stats.cauchy.logpdf(v)) + 10.0
    assert advise_constant(log_prior, lambda key: jax.random.cauchy(key, (5,)), 5, jax.random.key(0)) == []


@pytest.mark.slow
def test_laplace_evidence_of_a_prior_without_its_constant_is_warned_of():
    with pytest.warns(auxmc.SamplingWarning, match=r"is 2\.76 .* the evidence is off by as much"):
        found = auxmc.laplace_evidence(linear(), ROWS[:50], draws=500)
    assert sum("not to be normalised" in text for text in found.warnings) == 1
    right = auxmc.laplace_evidence(linear(-1.5 * math.log(2.0 * math.pi)), ROWS[:50], draws=500)
    assert right.warnings == ()
    exact = linear_log_evidence(ROWS[:50])
    assert right.log_evidence == pytest.approx(exact, abs=5.0 * right.standard_error)
    shown = f"log evidence {right.log_evidence:.3f} +- {right.standard_error:.3f} nats"
    assert repr(right) == str(right) == shown


@pytest.mark.slow
def test_few_importance_draws_are_warned_of():
    """Five draws gave an error of a fifth of the distance to the exact evidence."""
    with pytest.warns(auxmc.SamplingWarning, match="the spread of 5 draws, and may be far too small"):
        auxmc.laplace_evidence(linear(), ROWS[:50], draws=5)
    with pytest.raises(ValueError, match="draws must be an integer, at least 2: their spread is the"):
        auxmc.laplace_evidence(linear(), ROWS[:50], draws=1)


@pytest.mark.slow
def test_what_must_not_be_trusted_is_warned_of():
    # Two particles see little; and the prior is not that of the draws.
    model = linear()
    skewed = model._replace(log_prior=lambda p: model.log_prior(p) + p["intercept"])
    settings = RunningLaplaceSettings(n_particles=4, n_draws=4, n_moves=1, n_leapfrog=1)
    options = {"settings": settings, "progress": False, "seed": 1}
    with pytest.warns(auxmc.SamplingWarning) as caught:
        found = auxmc.stream_evidence(skewed, ROWS, chunk=150, replicates=4, **options)
    texts = [str(one.message) for one in caught]
    assert any("log_prior is not the density of what draw_prior draws" in text for text in texts)
    assert any("replicates differ by" in text for text in texts)
    assert tuple(texts) == found.warnings


# Two clouds of rows in one column, few enough for the prior's own draws to give the exact evidence.
_MIXTURE = gaussian_mixture(2, 1)
_ROWS = np.array([-2.0, 1.5, -1.7, 2.2, 0.4, -2.5, 1.9, 2.4, -1.2])[:, None]


@pytest.fixture(scope="module")
def exact_mixture():
    """Log evidence of the rows, from draws of the prior; the error is below 0.02 nats."""
    of = lambda key: jnp.sum(_MIXTURE.log_likelihood(_MIXTURE.draw_prior(key), jnp.asarray(_ROWS)))
    values = jax.jit(jax.vmap(of))(jax.random.split(jax.random.key(0), 200_000))
    return float(jax.nn.logsumexp(values) - math.log(values.size))


@pytest.mark.slow
def test_particles_of_their_own_tune_the_moves_over_growing_data(exact_mixture):
    """With moves tuned on the particles that count the mean of Z-hat over Z was 1.5."""
    settings = GrowingDataSettings(n_particles=20, n_moves=2, growth=0.5)
    run = growing_data_evidence(_MIXTURE, settings)
    program = jax.jit(jax.vmap(lambda key: run(key, jnp.asarray(_ROWS)).log_evidence))
    ratios = np.exp(np.asarray(program(jax.random.split(jax.random.key(1), 400))) - exact_mixture)
    assert abs(ratios.mean() - 1.0) < 3.0 * ratios.std() / math.sqrt(ratios.size)


@pytest.mark.slow
def test_growing_data_has_an_error_and_warns(exact_mixture):
    """The error covers the exact value; runs that disagree are warned of."""
    settings = GrowingDataSettings(n_moves=2, growth=0.5)
    found = auxmc.growing_data(_MIXTURE, _ROWS, settings=settings)
    assert found.warnings == ()
    assert abs(found.log_evidence - exact_mixture) < 2.0 * found.standard_error
    assert found.standard_error < 0.5
    few = settings._replace(n_particles=4, own_pilot=False, growth=1.0)
    with pytest.warns(auxmc.SamplingWarning) as caught:
        auxmc.growing_data(_MIXTURE, 10.0 * _ROWS, settings=few)
    text = " ".join(str(one.message) for one in caught)
    assert "runs differ by" in text
    assert "particles that tune their own moves make the evidence too large" in text


@pytest.mark.slow
def test_importance_draws_around_overlapping_modes_are_warned_of():
    """Up to 1.55 nats off with a small error."""
    with pytest.warns(auxmc.SamplingWarning):
        assert auxmc.laplace_evidence(_MIXTURE, _ROWS, copies=2, draws=1000).warnings
