"""Numerical faults given to every family of the library: each ends right, is rejected in one line, or is warned of."""

import math
import traceback
import warnings
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import auxmc
from auxmc.interface.tempered.evidence import METHODS
from auxmc.kernels.streams.growing_data import GrowingDataSettings
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings


class Expected(NamedTuple):
    """Outcome "right", "rejected" or "warned", and a part of the message."""

    outcome: str
    says: str = ""


RIGHT, rejects, warns = Expected("right"), partial(Expected, "rejected"), partial(Expected, "warned")
CASES = []
# Of what is not rejected, one case of each outcome: the others compile the same samplers.
FAST = {"density: NaN in half of the space", "density: duplicated rows", "density: improper: does not fall"}


def case(family, fault, run, expected):
    name = f"{family}: {fault}"
    slow = expected.outcome != "rejected" and name not in FAST
    CASES.append(pytest.param(run, expected, id=name, marks=[pytest.mark.slow] * slow))


def outcome_of(run, says):
    """What came of a run: a wrong value is excused by a warning, and by nothing else."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            wrong = run()
        except (ValueError, TypeError) as error:
            return Expected("traceback" if "\n" in str(error) else "rejected", str(error))
        except Exception:
            return Expected("traceback", traceback.format_exc()[-2000:])
    said = [str(one.message) for one in caught if issubclass(one.category, auxmc.SamplingWarning)]
    if said:
        return Expected("warned", next((text for text in said if says in text), said[0]))
    return Expected("wrong", wrong) if wrong else RIGHT


silent, anything = lambda draws: "nothing was said", lambda draws: ""


def moments(mean, sd, name="mean", most=0.3):
    """The mean and the standard deviation of a variable, in units of the exact standard deviation."""

    def check(draws):
        values = draws[name].to_numpy()
        off = abs(values.mean() - mean) / sd, abs(values.std() / sd - 1.0)
        return "" if max(off) <= most else f"{name}: mean {values.mean():.6g}, sd {values.std():.6g}"

    return check


def checked(method, check, start=None, **options):
    options = {"chains": 2, "cores": 1, "progress": False} | options
    draws = auxmc.sample(method, start, **options)["posterior"].to_dataset()
    bad = [str(name) for name in draws if not np.all(np.isfinite(draws[name]))]
    return f"draws of {bad} are not finite" if bad else check(draws)


def density(fault, log_density, start, expected, check=silent, *, warm_up=500, **own):
    start = start if isinstance(start, dict) else {"x": start}

    def run():
        method = auxmc.hmc(auxmc.density(log_density, start), **own)
        return checked(method, check, draws=1000, warm_up=warm_up)

    case("density", fault, run, expected)


X, Y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1.9, -1.2, 0.8, 2.1])
normal = lambda p: -0.5 * p["x"] ** 2
half_normal = lambda p: jnp.where(p["x"] > 0.0, normal(p), math.nan)


def separable(slope):
    """Logistic regression on four rows whose labels are the signs of x, with a normal prior."""
    return jnp.sum(jax.nn.log_sigmoid(slope * jnp.abs(jnp.asarray(X)))) - 0.5 * (slope / 2.0) ** 2


def regression(p, x, y):
    return -0.5 * jnp.sum((jnp.asarray(y) - p["slope"] * jnp.asarray(x)) ** 2) - 0.5 * p["slope"] ** 2


def constant_rows(p, prior):
    """Ten equal values of a normal distribution of unknown mean and scale."""
    terms = -10.0 * p["log_sd"] - 5.0 * (3.0 - p["mean"]) ** 2 * jnp.exp(-2.0 * p["log_sd"])
    return terms - prior * (0.5 * p["log_sd"] ** 2 + 0.5 * p["mean"] ** 2)


def two_slopes(p):
    """Two slopes of the same column, with standard normal priors."""
    both = p["a"] + p["b"]
    return regression({"slope": both}, X, Y) + 0.5 * both**2 - 0.5 * (p["a"] ** 2 + p["b"] ** 2)


GRID = np.linspace(-15.0, 20.0, 20001)
LOG_SEPARABLE = np.asarray(jax.vmap(separable)(jnp.asarray(GRID)))
WEIGHTS = np.exp(LOG_SEPARABLE) / np.sum(np.exp(LOG_SEPARABLE))
SLOPE = float(WEIGHTS @ GRID)
SLOPE_SD = math.sqrt(float(WEIGHTS @ (GRID - SLOPE) ** 2))
XX, XY = float(X @ X), float(X @ Y)

FINITE_START = "expected a finite value at the start, got"
GROWS, FLAT = "grows without end", "is the same everywhere"
AT_X = (0.0, 1.0, "x")

# fmt: off
density("start far out", normal, 1e6, RIGHT, moments(*AT_X), warm_up=1000)
density("start at 1e300", normal, 1e300, rejects(f"{FINITE_START} -inf"))
density("infinite start", normal, math.inf, rejects("not a finite number"))
density("density at one point alone", lambda p: jnp.where(p["x"] == 0.5, 0.0, -math.inf), 0.5,
    rejects("at none of 96 points around it"))
density("improper: grows along one of two", lambda p: p["x"] - 0.5 * p["y"] ** 2, {"x": 0.0, "y": 0.0},
    rejects(f"{GROWS} along x"))
density("improper: does not fall", lambda p: jax.nn.log_sigmoid(p["x"]), 0.0,
    warns("does not fall far out along x"))
density("separable labels, normal prior", lambda p: separable(p["slope"]), {"slope": 0.0}, RIGHT,
    moments(SLOPE, SLOPE_SD, "slope"))
density("duplicated rows", lambda p: regression(p, np.tile(X, 2), np.tile(Y, 2)), {"slope": 0.0}, RIGHT,
    moments(2.0 * XY / (1.0 + 2.0 * XX), 1.0 / math.sqrt(1.0 + 2.0 * XX), "slope"))
density("duplicated columns", two_slopes, {"a": 0.0, "b": 0.0}, RIGHT,
    moments(XY / (1.0 + 2.0 * XX), math.sqrt(11.0 / 21.0), "a"))
for flat_or_normal, strength in ("improper", 0.0), ("proper", 1.0):
    density(f"constant data, {flat_or_normal} prior", lambda p, strength=strength: constant_rows(p, strength),
        {"mean": 2.0, "log_sd": 0.0}, warns(), anything if strength else silent)
density("NaN in half of the space", half_normal, 1.0, warns("is NaN at"))
density("NaN derivative in half of the space",
    lambda p: normal(p) + jnp.where(p["x"] > 0.0, jnp.sqrt(p["x"]), 0.0), 1.0, warns("NaN"))
density("NaN far out", lambda p: jnp.log(jnp.exp(normal(p))), 0.0, RIGHT, moments(*AT_X))
density("all trajectories diverge", normal, 0.0, warns("where the log density is not finite"), step_size=1e200,
    warm_up=0)
# NaN there, or finite nowhere else: versions of XLA differ in the order of the products.
density("scale of 1e-300", lambda p: -0.5 * (p["x"] / 1e-300) ** 2, 0.0, rejects("at the start"))
density("scale of 1e300", lambda p: -0.5 * (p["x"] / 1e300) ** 2, 0.0, rejects(FLAT))
density("scale of 1e-6", lambda p: -0.5 * (p["x"] / 1e-6) ** 2, 0.0, RIGHT, moments(0.0, 1e-6, "x"))
density("log density of -1e300", lambda p: -1e300 + normal(p), 0.0, rejects(FLAT))
# fmt: on


TWO = {"mean": auxmc.prior.normal(), "noise": auxmc.prior.normal()}


def simulator(
    fault, generate, observed, expected, check=silent, inputs=TWO, noise_scale=None, step_size=0.1, **run_as
):
    def run():
        model = auxmc.simulator(generate, np.atleast_1d(observed), inputs, noise_scale=noise_scale)
        method = auxmc.constrained_hmc(model, step_size=step_size)
        return checked(method, check, **{"draws": 300, "warm_up": 200} | run_as)

    case("simulator", fault, run, expected)


def output(function):
    return lambda inputs: jnp.reshape(function(inputs["mean"], inputs["noise"]), (1,))


added = output(lambda m, e: m + e)
circle = output(lambda m, e: m**2 + e**2)
mean_alone = lambda inputs: jnp.reshape(inputs["mean"], (1,))
ONE = {"mean": auxmc.prior.normal()}
HALF = math.sqrt(0.5)
RANK = "lacks full rank"

# fmt: off
simulator("start off the manifold", added, 1.0, rejects("off the manifold"),
    start={"mean": 0.0, "noise": 0.0})
simulator("start at 1e300", added, 1.0, rejects("off the manifold"), start={"mean": 1e300, "noise": -1e300})
simulator("start far out on the manifold", added, 1.0, RIGHT, moments(0.5, HALF, most=0.35),
    start={"mean": 1e4, "noise": 1.0 - 1e4})
simulator("outputs of NaN", output(lambda m, e: jnp.log(m) + e), 0.0,
    warns("what generate returns is not finite at"))
simulator("an output twice", lambda i: jnp.tile(added(i), 2), [1.0, 1.0], rejects("isolated points"))
simulator("an output without inputs", lambda i: jnp.append(added(i), 3.0), [1.0, 3.0], rejects("isolated points"))
simulator("singular Gram matrix at the datum", circle, 0.0, rejects("is nearly zero"))
simulator("singular Gram matrix at a point", output(lambda m, e: m * e), 0.0, warns(), anything)
simulator("duplicated rows", lambda i: i["mean"] + i["noise"], [1.0, 1.0], RIGHT,
    moments(2.0 / 3.0, math.sqrt(1.0 / 3.0), most=0.35),
    inputs={"mean": auxmc.prior.normal(), "noise": auxmc.prior.normal(2)})
simulator("constant data, proper prior of the scale", lambda i: i["mean"] + jnp.exp(i["log_sd"]) * i["noise"],
    np.full(5, 3.0), RIGHT, moments(-1.0098, 0.4956, "log_sd"),  # by quadrature
    inputs={"mean": auxmc.prior.normal(mean=3.0, sd=1.0), "log_sd": auxmc.prior.normal(sd=0.5),
    "noise": auxmc.prior.normal(5)}, draws=1500)
simulator("all trajectories fail", circle, 1.0, warns("never moved"), step_size=1e6, warm_up=0)
simulator("datum of 1e300", added, 1e300, rejects("the log density of the prior"))
simulator("datum of 1e-300", added, 1e-300, RIGHT, moments(0.0, HALF, most=0.35))
for size, says in (1e300, "no inputs"), (1e-300, RANK), (1e-10, "is not small compared with the outputs"):
    simulator(f"outputs of size {size:g}", lambda i, size=size: size * added(i), size, rejects(says))
simulator("outputs that overflow", output(lambda m, e: jnp.exp(1000.0 * m) + e), 1.0,
    warns("what generate returns is not finite at"), anything)
simulator("prior of standard deviation 1e300", added, 1.0, rejects("no inputs"),
    inputs={"mean": auxmc.prior.normal(mean=0.0, sd=1e300), "noise": auxmc.prior.normal()})
for size, says in (1e-300, "the log density of the prior"), (1e300, RANK):
    simulator(f"noise of {size:g}", mean_alone, 1.0, rejects(says), inputs=ONE, noise_scale=size)
# fmt: on


N = 8


def estimated(fault, log_estimate, expected, check=silent, log_prior=None, start=0.0, plain=False):
    log_prior = log_prior or (lambda p: -0.5 * p["mean"] ** 2)

    def run():
        model = auxmc.estimated(log_prior, log_estimate, N, {"mean": start})
        method = auxmc.pseudo_marginal(model) if plain else auxmc.auxiliary_pseudo_marginal(model)
        return checked(method, check, draws=4000, warm_up=1000)

    case("estimated", fault, run, expected)


def log_mean(logs):
    return jax.nn.logsumexp(logs) - math.log(N)


def datum(value, scale=1.0):
    """One datum with a normal shift of standard deviation 1 and noise of the same."""
    return lambda p, u: log_mean(-0.5 * ((value - p["mean"]) / scale - u) ** 2)


def at_one(p):
    return -0.5 * (1.0 - p["mean"]) ** 2


no_prior = lambda p: 0.0 * p["mean"]
OF_ONE = moments(1.0 / 3.0, math.sqrt(2.0 / 3.0))
START = rejects("the log density at the start is not finite")

# fmt: off
estimated("start of density zero", datum(1.0), START,
    log_prior=lambda p: jnp.where(p["mean"] > 0.0, 0.0, -jnp.inf), start=-1.0)
estimated("start far out", datum(1.0), RIGHT, OF_ONE, start=50.0)
estimated("weights that underflow, in logs", lambda p, u: datum(1.0)(p, u) - 1e5, RIGHT, OF_ONE)
estimated("weights that underflow, without logs",
    lambda p, u: jnp.log(jnp.mean(jnp.exp(-1e5 - 0.5 * (1.0 - p["mean"] - u) ** 2))), START)
estimated("one finite particle", lambda p, u: log_mean(jnp.where(u > 1.0, at_one(p), -jnp.inf)), RIGHT,
    moments(0.5, HALF))
estimated("few estimates are not zero", lambda p, u: jnp.where(jnp.all(u > 0.5), at_one(p), -jnp.inf), START)
estimated("estimates of NaN", lambda p, u: datum(1.0)(p, u) + jnp.where(u[0] > 0.0, 0.0, math.nan),
    warns("is NaN at"))
estimated("estimates of plus infinity", lambda p, u: datum(1.0)(p, u) + jnp.where(u[0] > 1.0, jnp.inf, 0.0),
    rejects("plus infinity"))
estimated("estimates that vary by hundreds of nats", lambda p, u: at_one(p) + 300.0 * u[0], warns(),
    plain=True)
estimated("improper: flat", lambda p, u: 0.0 * (p["mean"] + u[0]), rejects(FLAT), log_prior=no_prior)
estimated("datum of 1e300", datum(1e300), START)
estimated("datum of 1e-300", datum(1e-300), RIGHT, moments(0.0, math.sqrt(2.0 / 3.0)))
estimated("scale of 1e-300", datum(1.0, 1e-300), rejects("around it"), start=1.0)
# fmt: on


def compared(found, exact, most):
    """Where there is no exact value, something must be said."""
    if exact is None:
        return f"{found} came without a word"
    near = abs(found.log_evidence - exact) <= 4.0 * found.standard_error + most
    return "" if near else f"{found}, not {exact}"


def evidence(fault, log_density, expected, exact=None, *, start=0.0, base=lambda: "laplace"):
    def run(method):
        options = {"draws": 1000, "warm_up": 300, "chains": 8, "cores": 1, "progress": False}
        found = auxmc.evidence(log_density, {"x": start}, base=base(), method=method, **options)
        return compared(found, exact, 0.05)

    # What is rejected before a run does not depend on the method.
    for method in METHODS[:1] if expected.outcome == "rejected" else METHODS:
        case(f"evidence, {method}", fault, lambda method=method: run(method), expected)


def gaussian_base(mean, sd):
    return lambda: auxmc.gaussian({"x": mean}, {"x": sd})


LOG_ROOT = 0.5 * math.log(2.0 * math.pi)
# fmt: off
evidence("density zero everywhere", lambda p: -math.inf + 0.0 * p["x"], rejects(FINITE_START))
evidence("base that is nowhere near", normal, rejects("no annealed run reached the target"),
    base=gaussian_base(1e300, 1.0))
evidence("base of standard deviation 1e-300", normal, warns(), base=gaussian_base(0.0, 1e-300))
evidence("weights that underflow", lambda p: -1e5 + normal(p), RIGHT, LOG_ROOT - 1e5)
evidence("separable labels, normal prior", lambda p: separable(p["x"]), RIGHT,
    float(np.log(np.sum(np.exp(LOG_SEPARABLE)) * (GRID[1] - GRID[0]))))
evidence("NaN in half of the space", half_normal, warns("is NaN at"), start=1.0, base=lambda: "automatic")
# fmt: on


ROWS = np.array([0.3, 1.4, -0.2, 0.9, 1.1, 0.1, 0.7, 1.9, 0.5, 0.4])[:, None]
LOG_2_PI = math.log(2.0 * math.pi)
RUNNING = {"chunk": 5, "settings": RunningLaplaceSettings(n_particles=100, n_moves=2), "progress": False}
ESTIMATES = {
    "stream_evidence": partial(auxmc.stream_evidence, replicates=4, **RUNNING),
    "growing_data": partial(auxmc.growing_data, replicates=4, settings=GrowingDataSettings(n_particles=50)),
    "laplace_evidence": partial(auxmc.laplace_evidence, draws=1000),
}


def rows_of(fault, log_likelihood, rows, expected, exact=None, **others):
    """`others` are outcomes of some estimators."""

    def run(name):
        log_prior = lambda p: -0.5 * p["mean"] ** 2 - 0.5 * LOG_2_PI
        model = auxmc.row_model(log_likelihood, log_prior, lambda key: {"mean": jax.random.normal(key)})
        return compared(ESTIMATES[name](model, rows), exact, 0.1)

    for name in ESTIMATES:
        case(name, fault, lambda name=name: run(name), others.get(name, expected))


def row_normal(p, rows):
    return -0.5 * (rows[:, 0] - p["mean"]) ** 2 - 0.5 * LOG_2_PI


def exact_normal(rows):
    y, n = rows[:, 0], len(rows)
    squares = np.sum(y**2) - np.sum(y) ** 2 / (1.0 + n)
    return float(-0.5 * (n * LOG_2_PI + math.log1p(n) + squares))


def with_row(place, value):
    return np.where(np.arange(10)[:, None] == place, value, ROWS)


def exact_labels():
    terms = np.logaddexp(0.0, -np.abs(ROWS[:, 0])[None] * GRID[:, None])
    logs = -np.sum(terms, axis=1) - 0.5 * GRID**2 - 0.5 * LOG_2_PI
    return float(np.log(np.sum(np.exp(logs)) * (GRID[1] - GRID[0])))


NOT_FINITE, LATER = rejects("not finite"), warns("the log evidence is -inf in rows 5 to")
CONSTANT = np.full((10, 1), 0.7)
TWICE, FAR = np.tile(ROWS, (2, 1)), 1e4 + ROWS

# fmt: off
rows_of("NaN in a row", row_normal, with_row(3, math.nan), rejects("row 4 (index 3), column '0': missing value (nan)"))
rows_of("row of 1e300", row_normal, with_row(3, 1e300),
    rejects("log_likelihood is not finite at 32 of 32 draws from the prior"))
rows_of("a later row of 1e300", row_normal, with_row(8, 1e300), NOT_FINITE, stream_evidence=LATER)
rows_of("constant rows", row_normal, CONSTANT, RIGHT, exact_normal(CONSTANT))
rows_of("duplicated rows", row_normal, TWICE, RIGHT, exact_normal(TWICE))
rows_of("separable labels", lambda p, rows: jax.nn.log_sigmoid(jnp.abs(rows[:, 0]) * p["mean"]), ROWS, RIGHT,
    exact_labels())
rows_of("weights that underflow", row_normal, FAR, warns(), exact_normal(FAR), laplace_evidence=RIGHT)
rows_of("evidence of zero", lambda p, rows: jnp.where(rows[:, 0] > 4.0, -jnp.inf, row_normal(p, rows)),
    np.insert(ROWS, 8, 5.0, axis=0), NOT_FINITE, stream_evidence=LATER)
rows_of("few finite particles", lambda p, rows: jnp.where(p["mean"] > 1.0, row_normal(p, rows), -jnp.inf),
    ROWS, rejects("log_likelihood is not finite at"))
# fmt: on


@pytest.mark.parametrize(("run", "expected"), CASES)
def test_numerical_fault_is_survived_rejected_or_warned_of(run, expected):
    found = outcome_of(run, expected.says)
    assert found.outcome == expected.outcome, found.says
    assert expected.says in found.says


def test_wrong_values_and_other_errors_are_noticed():
    assert outcome_of(lambda: "the mean is 3, not 1", "") == Expected("wrong", "the mean is 3, not 1")
    assert outcome_of(lambda: [][1], "").outcome == "traceback"
