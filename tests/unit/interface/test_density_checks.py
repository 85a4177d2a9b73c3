"""Step functions are rejected, flat directions and jumps are warned of, and nothing else is."""

import math
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import auxmc
from auxmc.diagnostics.convergence import mcse_mean
from auxmc.interface.checks.densities import NOT_FALLING, advise_tails
from auxmc.interface.checks.jumps import largest_jump
from auxmc.interface.layout import layout_of
from auxmc.interface.streams.rows import checked_model, read_rows
from auxmc.numerics.programs import coarse_in_float32

LINES = (np.array([[-3.0, 1.0], [2.0, -5.0]]), np.array([[4.0, 1.5], [-2.0, 6.0]]))


@pytest.mark.parametrize(
    ("function", "height", "place"),
    [
        (lambda v: jnp.where(v[0] < 1.25, 0.0, 2.5) - v[0] ** 2, 2.5, 1.25),
        (lambda v: -jnp.sum(jnp.abs(v)) + 3.0 * jnp.sign(v[0] - 0.3), 6.0, 0.3),
    ],
)
def test_a_jump_is_found_with_its_height_and_its_place(function, height, place):
    found = largest_jump(function, *LINES, least=0.01)
    assert found is not None
    assert found[0] == pytest.approx(height, rel=1e-6)
    assert found[1][0] == pytest.approx(place, abs=1e-7)


@pytest.mark.parametrize(
    "function",
    [
        lambda v: -0.5 * jnp.sum(v**2),
        lambda v: -1e3 * jnp.sum(jnp.abs(v)),
        lambda v: jnp.log(jnp.abs(v[0])) - v[1] ** 2,
        lambda v: -jnp.sqrt(jnp.abs(v[0] - 0.3)),
        lambda v: -1e6 * jnp.sum(v**2) + 50.0 * jax.nn.sigmoid(1e5 * v[0]),
        lambda v: -0.5 * ((jnp.sqrt(jnp.sum(v**2)) - 2.0) / 1e-3) ** 2,
        lambda v: jnp.where(jnp.all(jnp.abs(v) < 1.0), 0.0, -jnp.inf),
    ],
    ids=["normal", "corner", "pole", "infinite slope", "steep", "shell", "edge of a support"],
)
def test_continuous_functions_have_no_jump(function):
    assert largest_jump(function, *LINES, least=0.01) is None


DATA = np.random.default_rng(0).normal(size=20)


def _change_point(p):
    """A mean that changes at a time that is not known; the prior of the time is smooth."""
    times = jnp.arange(100.0)
    data = jnp.where(times < 40.0, 0.0, 2.0)
    fitted = jnp.where(times < 100.0 * jax.nn.sigmoid(p["when"]), 0.0, p["mean"])
    return -0.5 * jnp.sum((data - fitted) ** 2) - 0.5 * p["mean"] ** 2 - 0.5 * p["when"] ** 2


@pytest.mark.filterwarnings("ignore::auxmc.SamplingWarning")
def test_jumps_are_warned_of_by_full_checks_alone():
    method = auxmc.hmc(auxmc.density(_change_point, {"when": 0.0, "mean": 1.0}))
    for checks, warned in (("basic", False), ("full", True)):
        tree = auxmc.sample(method, draws=100, warm_up=100, chains=2, progress=False, checks=checks)
        found = [text for text in tree.attrs["warnings"] if "log_density jumps by" in text]
        assert len(found) == warned
        assert all("near mean = " in text and "when = " in text for text in found)


def test_a_scale_without_a_prior_is_warned_of():
    """Effects that need not differ: as their scale goes to zero the likelihood stays, and with it the density."""

    def log_density(p):
        effects = jnp.exp(p["log_scale"]) * p["z"]
        return -0.5 * jnp.sum((DATA - effects) ** 2) - 0.5 * jnp.sum(p["z"] ** 2)

    start = {"log_scale": 0.0, "z": np.zeros(20)}
    with pytest.warns(auxmc.SamplingWarning, match="does not fall far out along log_scale: its integral may"):
        auxmc.density(log_density, start)
    assert auxmc.density(lambda p: log_density(p) - 0.5 * p["log_scale"] ** 2, start).warnings == ()


MODES = jnp.array([[-20.0], [20.0]])
NOTHING_WRONG = {
    "box": lambda x: jnp.where(jnp.all(jnp.abs(x) < 1.0), 0.0, -jnp.inf),
    "Cauchy": lambda x: -jnp.sum(jnp.log1p(x**2)),
    "wide": lambda x: -1e-9 * jnp.sum(x**2),
    "flat at a distance of a million": lambda x: -0.5 * jnp.sum((x / 1e8) ** 2),
    "log of gamma": lambda x: jnp.sum(3.0 * x - jnp.exp(x)),
    "funnel": lambda x: -(x[0] ** 2) / 18.0 - jnp.sum(0.5 * x[1:] ** 2 * jnp.exp(-x[0]) + 0.5 * x[0]),
    "logistic": lambda x: jnp.sum(jax.nn.log_sigmoid(x) + jax.nn.log_sigmoid(-x)),
    "shell": lambda x: -0.5 * ((jnp.sqrt(jnp.sum(x**2)) - 2.0) / 0.01) ** 2,
    "two modes": lambda x: jax.nn.logsumexp(-0.5 * jnp.sum((x[None] - MODES) ** 2, axis=1)),
    "valley": lambda x: -0.5 * jnp.sum(x**2) - 0.5 * jnp.sum((x[1:] - x[:-1] ** 2) ** 2) / 0.01,
}


@pytest.mark.parametrize("name", NOTHING_WRONG)
@pytest.mark.parametrize("dim", [2, 150])
def test_densities_with_nothing_wrong_are_not_warned_of(name, dim):
    model = auxmc.density(lambda p: NOTHING_WRONG[name](p["x"]), {"x": np.full(dim, 0.1)})
    assert model.warnings == ()


def test_estimates_that_fix_no_parameter_are_rejected_or_warned_of():
    def estimated(log_estimate):
        return auxmc.estimated(lambda p: -0.5 * p["a"] ** 2, log_estimate, 3, {"a": 0.0, "b": 0.0})

    with pytest.raises(ValueError, match="log_prior plus log_estimate does not depend on b"):
        estimated(lambda p, u: jnp.mean(u) * p["a"])
    with pytest.warns(auxmc.SamplingWarning, match="does not fall far out along b"):
        estimated(lambda p, u: -jax.nn.softplus(p["b"]) + 0.0 * jnp.mean(u))


def test_generators_with_steps_or_loops_are_rejected():
    """An event that happens or not is no smooth function of its input."""
    inputs = {"x": auxmc.prior.normal(2), "event": auxmc.prior.uniform()}
    with pytest.raises(ValueError, match="what generate returns is a step function of event"):
        auxmc.simulator(lambda i: jnp.sum(i["x"]) + jnp.where(i["event"] < 0.3, 1.0, 0.0), 0.5, inputs)
    halved = lambda x: jax.lax.while_loop(lambda x: x > 1.0, lambda x: 0.5 * x, x)
    with pytest.raises(ValueError, match=r"generate has a lax.while_loop.* lax.fori_loop.*lax.custom_root"):
        auxmc.simulator(lambda i: halved(i["x"][0] ** 2) + i["x"][1] + i["event"], 0.5, inputs)


def test_models_of_rows_with_steps_are_rejected():
    model = auxmc.row_model(
        lambda p, rows: -0.5 * (rows[:, 0] - jnp.round(p["k"])) ** 2,
        lambda p: -0.5 * p["k"] ** 2 / 9.0,
        lambda key: {"k": 3.0 * jax.random.normal(key)},
    )
    with pytest.raises(ValueError, match="log_likelihood is a step function of k"):
        checked_model(model, read_rows(DATA[:, None], 20), jax.random.key(0))


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda v: -0.5 * (v["a"] - v["b"]) ** 2 - 0.0 * v["c"][0] - jnp.sum(v["c"] ** 2), "a, b"),
        (lambda v: -0.5 * jnp.sum((v["a"] + v["c"] - 3.0) ** 2) - v["b"] ** 2, "a, c[0], c[1]"),
        (lambda v: -((v["a"] - 1e4 * v["b"]) ** 2) - jnp.sum(v["c"] ** 4), "a"),
    ],
)
def test_a_density_of_a_combination_alone_is_warned_of(function, names):
    start = {"a": 0.5, "b": 1.0, "c": np.zeros(2)}
    warned = f"along a line where {re.escape(names)}.* change together"
    with pytest.warns(auxmc.SamplingWarning, match=warned):
        model = auxmc.density(function, start=start)
    with pytest.raises(ValueError, match="its integral may be infinite"):
        auxmc.evidence(model, progress=False)


@pytest.mark.parametrize("width", [1e-3, 1e3, 1e5])
def test_a_narrow_ridge_with_an_end_is_not_warned_of(width):
    ridge = lambda v: -0.5 * (v["a"] - v["b"]) ** 2 - 0.5 * ((v["a"] + v["b"]) / width) ** 2
    assert auxmc.density(ridge, start={"a": 0.5, "b": 1.0}).warnings == ()


@pytest.mark.parametrize(
    ("log_density", "flat"),
    [
        (lambda v: 2.0 * jnp.cos(v["a"] - 1.0) - v["b"] ** 2, "a"),
        (lambda v: 100.0 * jnp.cos(3.0 * v["a"]) + jnp.sin(v["b"]) ** 2, "a, b"),
        (lambda v: -jnp.log1p(v["a"] ** 2) - jnp.abs(v["b"]), ""),
        (lambda v: -0.5 * (v["a"] / 1e8) ** 2 - 0.5 * (v["b"] - 1e4) ** 2 + jnp.cos(v["b"]), ""),
        (lambda v: -jnp.log1p(((v["a"] - 3e5) / 1e5) ** 2) - 0.5 * v["b"] ** 2, ""),
    ],
    ids=["angle", "two periodic", "heavy tails", "wide and far", "wide, far and heavy"],
)
def test_directions_in_which_a_density_does_not_fall_are_named(log_density, flat):
    layout = layout_of({name: jax.ShapeDtypeStruct((), float) for name in ("a", "b")})
    advice = advise_tails("f", lambda x: log_density(layout.tree(x)), np.array([0.5, 0.1]), layout)
    assert [one.problem.partition(":")[0] for one in advice] == [f"f {NOT_FALLING} {flat}"] * bool(flat)


def _decay(rate):
    """Integrates y' = -rate y to time 1 in steps that shrink with the rate: far out it never ends."""

    @jax.custom_vjp
    def solve(rate):
        step = 0.01 / (1.0 + rate)
        advance = lambda loop: (loop[0] + step, loop[1] * (1.0 - step * rate))
        return jax.lax.while_loop(lambda loop: loop[0] < 1.0, advance, (0.0, 1.0))[1]

    solve.defvjp(lambda rate: (solve(rate), solve(rate)), lambda y, cotangent: (-y * cotangent,))
    return solve(rate)


def _of_open_cost(v):
    return -0.5 * v["log_rate"] ** 2 - 2e3 * (_decay(jnp.exp(v["log_rate"])) - 0.5) ** 2


# With the exact solution in place of steps.
GRID = np.linspace(-4.0, 3.0, 20001)
ON_GRID = np.exp(-0.5 * GRID**2 - 2e3 * (np.exp(-np.exp(GRID)) - 0.5) ** 2)


def test_densities_whose_cost_depends_on_the_variables_are_not_looked_at_far_out():
    """Nor by the trajectories of the warm-up; the mean of the draws is that of a grid, at four standard errors."""
    model = auxmc.density(_of_open_cost, {"log_rate": 0.0})
    assert model.warnings == ()
    tree = auxmc.sample(auxmc.hmc(model), draws=300, warm_up=200, progress=False)
    draws = tree["posterior"]["log_rate"].to_numpy()
    mean, error = np.average(GRID, weights=ON_GRID), float(mcse_mean(draws))
    assert draws.mean() == pytest.approx(mean, abs=4.0 * error + 0.005)


def test_trajectories_are_ended_by_kicks_in_standard_deviations_of_the_momentum():
    """Three standard deviations from the mode of a narrow density: within reach where the masses fit it."""
    method = auxmc.hmc(auxmc.density(_of_open_cost, {"log_rate": -0.2}))

    @jax.jit
    def n_ended(inverse_mass):
        kernel, key = method.build(jnp.asarray(0.3), inverse_mass), jax.random.key(0)
        return kernel.step(key, kernel.init(jnp.array([-0.2])))[1].n_not_finite

    variance = np.full(1, 2e-3)
    assert [int(n_ended(mass)) for mass in (variance, variance[None], np.ones(1))] == [0, 0, 1]


@pytest.mark.slow
def test_evidence_of_densities_whose_cost_depends_on_the_variables():
    """Exploring runs stay near the start, and their trajectories end where the density gets steep."""
    found = auxmc.evidence(_of_open_cost, {"log_rate": 0.0}, draws=256, progress=False)
    assert found.log_evidence == pytest.approx(math.log(np.trapezoid(ON_GRID, GRID)), abs=0.05)
    assert not found.warnings


def test_arrays_that_lost_digits_are_named():
    """As jax.numpy makes them before double precision is on; integers and values near 1 lose none that count."""
    days = np.float32([2458849.51, 2458849.63, 2458850.02])
    celsius = np.float32([273.151, 273.162, 273.451])

    def of(data):
        fitted = jax.jit(lambda x: -0.5 * jnp.sum(((jnp.asarray(data) - data[0]).astype(float) - x) ** 2))
        return auxmc.density(lambda v: fitted(v["x"]), {"x": 0.1})

    with pytest.raises(ValueError, match=r"array of float32 of shape \(3,\), from 2458849.5 .*enable_x64"):
        of(days)
    with pytest.warns(auxmc.SamplingWarning, match=r"log_density has an array of float32 of shape \(3,\)"):
        of(celsius)
    assert of(np.float32([0.1, 0.7, -1.3])).warnings == ()
    assert of(np.float32([2001.0, 2003.0, 2010.0])).warnings == ()
    huge = np.array([[0.0, 3.402823364973241e38, 1e300], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(coarse_in_float32(huge), [False, True, True])
    ones = np.ones(3, np.float32)
    with pytest.raises(ValueError, match="rows: column 1 lost digits in float32"):
        read_rows(np.stack([ones, days], axis=1), 3)
    with pytest.raises(ValueError, match="rows: column day lost digits in float32"):
        read_rows(pd.DataFrame({"one": np.ones(3), "day": days}), 3)
    read_rows(pd.DataFrame({"one": ones, "day": days.astype(float)}), 3)


def test_jumps_where_draws_never_go_are_not_warned_of():
    """As clips of transforms make them, a hundred nats below the rest."""
    log_density = lambda x: -50.0 * jnp.sum(jnp.abs(x)) - jnp.where(x[0] > 2.0, 0.7, 0.0)
    begins, ends = -np.ones((1, 2)), np.array([[4.0, -1.0]])
    assert largest_jump(log_density, begins, ends, least=0.01) is not None
    assert largest_jump(log_density, begins, ends, least=0.01, depth=22.0) is None


def test_a_start_is_checked_under_the_settings_of_the_caller():
    with jax.numpy_dtype_promotion("standard"):
        model = auxmc.density(lambda v: -jnp.sum(v["x"] ** 2 * jnp.int8(2)), {"x": np.zeros(2)})
    assert not model.warnings


def test_no_check_is_made_where_none_is_wanted():
    """The wrong sign, a step function, and chains that are far too short."""
    options = {"draws": 5, "warm_up": 0, "chains": 2, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", auxmc.SamplingWarning)
        wrong = lambda v: 0.5 * v["x"] ** 2 + jnp.floor(v["k"])
        model = auxmc.density(wrong, {"x": 0.0, "k": 0.5}, checks="off")
        tree = auxmc.sample(auxmc.hmc(model), checks="off", **options)
        inputs = {"x": auxmc.prior.normal(), "k": auxmc.prior.normal()}
        auxmc.simulator(lambda i: i["x"] + jnp.floor(i["k"]), 0.5, inputs, checks="off")
        auxmc.estimated(lambda p: p["x"], lambda p, u: 0.0 * jnp.sum(u), 3, {"x": 0.0}, checks="off")
    assert tree.attrs["warnings"] == []
    with pytest.raises(ValueError, match="checks: expected one of basic, full, off, got 'none'"):
        auxmc.sample(auxmc.hmc(model), checks="none", **options)


def test_a_density_with_a_prior_is_not_said_to_have_an_infinite_integral():
    """Far out, a heavy-tailed posterior given as its ratio to the prior is rounding."""
    log_prior = lambda p: jnp.sum(jax.scipy.stats.norm.logpdf(p["x"], 0.0, 4.0))
    log_likelihood = lambda p: -2.5 * jnp.log1p(jnp.sum(p["x"] ** 2) / 3.0) - log_prior(p)
    prior = (log_prior, lambda key: {"x": 4.0 * jax.random.normal(key, (2,))})
    assert auxmc.density(log_likelihood, prior=prior).warnings == ()


def test_a_prior_must_draw_all_variables():
    """A variable of the start that the prior leaves out would have none."""
    prior = (lambda p: -0.5 * p["a"] ** 2, lambda key: {"a": jax.random.normal(key)})
    with pytest.raises(ValueError, match="draws of the prior must have the variables a, b"):
        auxmc.density(lambda p: -(p["b"] ** 2), {"a": 0.1, "b": 0.2}, prior=prior)
