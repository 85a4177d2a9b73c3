"""`auxmc.evidence` against exact evidences; modes that are far from the start; what it refuses and warns of."""

import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy.integrate import quad

import auxmc
from auxmc.diagnostics.log_evidence import Evidence
from auxmc.interface.densities import density
from auxmc.interface.tempered.advice import advise_evidence
from auxmc.interface.tempered.bases import Base, find_base
from auxmc.interface.tempered.evidence import METHODS, method_of

pytestmark = pytest.mark.filterwarnings("ignore::auxmc.SamplingWarning")


def _two_modes(p: Any) -> jax.Array:
    """Two normal laws of standard deviation 0.5 in three dimensions, 10 apart, 0.3 and 0.7 of the mass."""
    centres = jnp.array([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]])
    squares = jnp.sum((p["x"][None] - centres) ** 2, axis=1)
    return jax.nn.logsumexp(
        jnp.log(jnp.array([0.3, 0.7])) - 2.0 * squares - 1.5 * jnp.log(jnp.asarray(0.5 * jnp.pi))
    )


@pytest.mark.slow
def test_two_shells() -> None:
    """Both are found from a start in one, the evidence is right, the draws lie in both, and nothing is said."""
    centres = jnp.array([[3.5, 0.0], [-3.5, 0.0]])

    def log_density(p: Any) -> jax.Array:
        radii = jnp.sqrt(jnp.sum((p["x"][None] - centres) ** 2, axis=1))
        return jax.nn.logsumexp(-0.5 * ((radii - 2.0) / 0.1) ** 2)

    mass = quad(lambda r: r * math.exp(-0.5 * ((r - 2.0) / 0.1) ** 2), 1.0, 3.0)[0]
    found = auxmc.evidence(log_density, {"x": [5.5, 0.0]}, progress=False)
    assert abs(found.log_evidence - math.log(4.0 * math.pi * mass)) < 2.0 * found.standard_error
    assert found.standard_error < 0.2
    assert not found.warnings
    share = float((found.posterior["posterior"]["x"][..., 0] > 0.0).mean())
    assert 0.4 < share < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_correlated_normal(method: str) -> None:
    """Every method: evidence within two errors, moments of the draws."""
    covariance = np.array([[4.0, 1.8, 0.0], [1.8, 1.0, 0.0], [0.0, 0.0, 0.01]])
    precision = jnp.asarray(np.linalg.inv(covariance))

    def log_density(p: Any) -> jax.Array:
        x = jnp.concatenate([p["first"], p["second"][None]])
        return -0.5 * x @ precision @ x

    found = auxmc.evidence(
        log_density, {"first": [1.0, 0.0], "second": 0.1}, method=method, draws=1000, progress=False
    )
    exact = 1.5 * math.log(2.0 * math.pi) + 0.5 * np.linalg.slogdet(covariance)[1]
    assert abs(found.log_evidence - exact) < 2.0 * found.standard_error
    assert found.standard_error < 0.3
    first = found.posterior["posterior"]["first"].to_numpy()[0]
    assert np.allclose(np.cov(first.T), covariance[:2, :2], rtol=0.35, atol=0.1)


@pytest.mark.slow
def test_base_in_one_mode_is_warned_of() -> None:
    """A given base that covers one of two modes, and chains that never leave it."""
    with pytest.warns(auxmc.SamplingWarning, match="annealed runs (from|ended)"):
        found = auxmc.evidence(
            _two_modes,
            {"x": np.zeros(3)},
            base=auxmc.gaussian({"x": np.zeros(3)}, {"x": 0.5 * np.ones(3)}),
            draws=200,
            warm_up=100,
            chains=4,
            progress=False,
        )
    assert found.warnings


@pytest.mark.slow
def test_base_far_from_the_target_is_warned_of() -> None:
    """Trap 2: a pilot in which one run counts gave an evidence 17 nats too low without a warning."""
    with pytest.warns(auxmc.SamplingWarning):
        found = auxmc.evidence(
            lambda p: -0.5 * jnp.sum(p["x"] ** 2) / 0.01**2,
            {"x": np.zeros(8)},
            base=auxmc.gaussian({"x": 300.0 * np.ones(8)}, {"x": np.ones(8)}),
            n_steps=1,
            draws=50,
            warm_up=20,
            chains=4,
            progress=False,
        )
    assert found.warnings


def test_chains_start_at_the_base() -> None:
    """Trap 1: chains that started in the middle of the temperatures froze there, 3 nats off."""
    model = density(lambda p: -0.5 * jnp.sum(p["x"] ** 2), {"x": np.zeros(2)})
    base = _base(model)
    for name in METHODS:
        method = method_of(name, model, base, 5)
        assert method.draw_start is not None
        start = method.draw_start(jax.random.key(0))
        state = method.build(jnp.ones(())).init(jax.random.key(1), jnp.asarray(start))
        assert float(method.of_state(state)["inverse_temperature"]) < 0.05


def test_stuck_chains_are_named_and_few_chains_with_all_the_weight_are_warned_of() -> None:
    """Trap 1 and trap 5: chains without moves, and weights that all sit at one end."""
    model = density(lambda p: -0.5 * jnp.sum(p["x"] ** 2), {"x": np.zeros(2)})
    random = np.random.default_rng(0)
    values = random.normal(size=(6, 40, 2))
    values[2] = values[2, 0]
    temperatures = np.tile(np.linspace(0.0, 1.0, 40), (6, 1))
    temperatures[2] = 0.5
    target = random.normal(size=(6, 40))
    target[4] += 30.0
    dims = ("chain", "draw")
    tree = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"x": ((*dims, "x_dim_0"), values)}),
            "sample_stats": xr.Dataset(
                {
                    "log_target_weight": (dims, target),
                    "log_base_weight": (dims, random.normal(size=(6, 40))),
                    "inverse_temperature": (dims, temperatures),
                }
            ),
        }
    )
    posterior = xr.DataTree.from_dict({"posterior": xr.Dataset({"x": ((*dims, "x_dim_0"), values[3:4])})})
    found = advise_evidence(model, tree, posterior, _base(model), Evidence(1.8, 2.0))
    text = " ".join(advice.text for advice in found)
    assert "chain 2 never moved after the warm-up" in text
    assert "1 of 6 chains did not get from the base to the target" in text
    assert "few chains carry the weight, in effect 1.0 of 6" in text
    assert "the standard error is 2.00 nats" in text


def test_draws_that_depend_on_one_another_are_warned_of() -> None:
    """Chains that stayed in modes of their own: SLCP's draws had the wrong shares of modes without a warning."""
    model = density(lambda p: -0.5 * jnp.sum(p["x"] ** 2), {"x": np.zeros(2)})
    random = np.random.default_rng(0)
    dims = ("chain", "draw")
    stats = {name: (dims, random.normal(size=(6, 40))) for name in ("log_target_weight", "log_base_weight")}
    stats["inverse_temperature"] = (dims, np.tile(np.linspace(0.0, 1.0, 40), (6, 1)))
    x = ((*dims, "x_dim_0"), random.normal(size=(6, 40, 2)))
    groups = {"posterior": xr.Dataset({"x": x}), "sample_stats": xr.Dataset(stats)}
    tree = xr.DataTree.from_dict(groups)
    draws = random.normal(size=(1, 480, 2))
    modes = np.where(random.random(6) < 0.5, -2.0, 2.0).repeat(80)
    for values, warned in ((draws, False), (draws + modes[None, :, None], True)):
        posterior = xr.DataTree.from_dict({"posterior": xr.Dataset({"x": (x[0], values)})})
        found = advise_evidence(model, tree, posterior, _base(model), Evidence(1.8, 0.1))
        assert any("draws of the posterior are worth" in advice.text for advice in found) == warned


def _base(model: Any) -> Base:
    given = auxmc.gaussian({"x": np.zeros(2)}, {"x": np.ones(2)})
    return find_base(model, given, jax.random.key(0), 3)


def test_model_has_its_start_and_keeps_its_own_scales() -> None:
    """A rate with a gamma density, moved on as its log."""
    model = auxmc.density(lambda p: 3.0 * p["log_rate"] - jnp.exp(p["log_rate"]), {"log_rate": 0.0})
    model = model._replace(constrained=lambda p: {"rate": jnp.exp(p["log_rate"])})
    found = auxmc.evidence(model, draws=300, warm_up=100, chains=8, progress=False)
    assert abs(found.log_evidence - math.log(2.0)) < 3.0 * found.standard_error
    draws = found.posterior["posterior"]["rate"]
    assert draws.shape == (1, 300)
    # States with a large weight are chosen several times, and moved apart.
    assert len(np.unique(draws)) == 300
    assert 2.5 < float(draws.mean()) < 3.5
    with pytest.raises(ValueError, match="start must be left out where a model is given"):
        auxmc.evidence(model, {"log_rate": 0.0})
    with pytest.raises(ValueError, match="start is missing: give variables"):
        auxmc.evidence(lambda p: -(p["x"] ** 2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"chains": 1}, "chains must be a whole number, at least 2: their spread is the error"),
        ({"method": "nuts"}, "method must be one of simulated_tempering"),
        ({"base": "flow"}, "base must be one of automatic, advi, laplace, or auxmc.gaussian"),
        (
            {"base": auxmc.gaussian({"x": [0.0]}, {"x": [-1.0]})},
            "scale must hold positive standard deviations",
        ),
        ({"base": auxmc.gaussian({"x": [0.0]}, np.array([[-1.0]]))}, "scale is no covariance matrix"),
        ({"base": auxmc.gaussian({"y": [0.0]}, {"x": [1.0]})}, "mean must have the variables x, .* got y"),
        ({"n_steps": 0}, "n_steps must be a positive whole number"),
    ],
)
def test_bad_arguments_are_refused(settings: dict[str, Any], message: str) -> None:
    """Before anything runs."""
    with pytest.raises(ValueError, match=message):
        auxmc.evidence(lambda p: -jnp.sum(p["x"] ** 2), {"x": [0.0]}, **settings, progress=False)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"draws": 0}, ValueError, "draws must be a whole number, at least 1, got 0"),
        ({"warm_up": -1}, ValueError, "warm_up must be a whole number, at least 0, got -1"),
        (
            {"cores": 0},
            ValueError,
            "cores must be a whole number, at least 1: .* leave it out for all cores, got 0",
        ),
        ({"executor": "threads"}, ValueError, "executor must be .* got 'threads': for threads leave it out"),
        ({"executor": 4}, TypeError, "executor must be .* got 4: for threads leave it out"),
        ({"checkpoint": 3}, TypeError, "checkpoint must be a folder's path, got int"),
        ({"checkpoint": Path(__file__)}, ValueError, "test_evidence.py is a file: give another path"),
    ],
    ids=str,
)
def test_arguments_of_the_chains_are_looked_at_before_the_search(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The search for a base takes longer than anyone waits for such a message."""
    searched = AssertionError("a base was sought")

    def search(*arguments: object) -> None:
        raise searched

    monkeypatch.setattr("auxmc.interface.tempered.evidence.find_base", search)
    with pytest.raises(error, match=message):
        auxmc.evidence(lambda p: -jnp.sum(p["x"] ** 2), {"x": [0.0]}, **settings, progress=False)


def test_search_that_ends_on_a_ridge_gives_no_base() -> None:
    """On a circle of maxima the curvature along it is rounding: no covariance, and no traceback of a factorisation."""
    angle = np.linspace(0.1, 6.2, 40)[9]
    ring = density(
        lambda v: -0.5 * ((jnp.linalg.norm(v["x"]) - 2.0) / 0.1) ** 2,
        {"x": [2.1 * math.cos(angle), 2.1 * math.sin(angle)]},
    )
    with pytest.raises(ValueError, match="no base was found"):
        find_base(ring, "laplace", jax.random.key(0), n_steps=10)


def test_energy_in_place_of_a_log_density_is_refused() -> None:
    """Trap 5: the wrong sign gave 718.8 +- 0.1 for 1.84."""
    with pytest.raises(ValueError, match="may have the wrong sign"):
        auxmc.evidence(lambda p: 0.5 * jnp.sum(p["x"] ** 2), {"x": np.ones(2)}, progress=False)
