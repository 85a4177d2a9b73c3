"""Known evidences agree with importance sampling, NumPy and JAX see one likelihood, cells say what was found."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from scipy.special import logsumexp

from benchmarks import evidence_problems, evidence_set
from benchmarks.evidence_problems import PROBLEMS

OF_TWO = {name: make for name, make in PROBLEMS.items() if make().dim == 2}
OF_TWO["gauss2"] = lambda: evidence_problems._gauss(2)


def _estimate(log_weights):
    ratios = np.exp(log_weights - log_weights.max())
    value = logsumexp(log_weights) - np.log(len(ratios))
    return value, ratios.std() / ratios.mean() / np.sqrt(len(ratios))


@pytest.mark.parametrize("name", OF_TWO)
def test_known_evidence_is_the_mean_likelihood_of_draws_of_the_prior(name):
    problem = OF_TWO[name]()
    points = problem.from_cube(np.random.default_rng(0).random((400_000, 2)))
    value, error = _estimate(problem.log_likelihood(points, np))
    assert error < 0.1
    assert abs(value - problem.log_evidence()) < 4.0 * error


def test_known_evidence_of_the_regression_agrees_with_importance_sampling_at_the_mode():
    problem, random = PROBLEMS["logistic"](), np.random.default_rng(0)

    def log_density(x):
        return problem.log_likelihood(x, np) + problem.log_prior(x, np)

    found = optimize.minimize(lambda x: -log_density(x), np.zeros(5))
    proposal = stats.multivariate_t(found.x, found.hess_inv, df=5, seed=random)
    draws = proposal.rvs(20_000)
    value, error = _estimate(log_density(draws) - proposal.logpdf(draws))
    assert error < 0.01
    assert abs(value - problem.log_evidence()) < 4.0 * error


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_the_same_for_numpy_and_jax_and_its_prior_holds_its_draws(name):
    problem = PROBLEMS[name]()
    points = problem.from_cube(np.random.default_rng(1).random((50, problem.dim)))
    for function in (problem.log_likelihood, problem.log_prior):
        values = function(points, np)
        assert values.shape == (50,)
        assert np.isfinite(values).all()
        np.testing.assert_allclose([function(jnp.asarray(x), jnp) for x in points], values, rtol=1e-9)
    if problem.half:
        assert problem.log_prior(np.full(problem.dim, 1.01 * problem.half), np) == -np.inf


def _rows(program, **values):
    names = {"cold": "CPU time", "second": "CPU time of a second seed", "error": "error"}
    names |= {"stated": "stated error", "warnings": "warnings"}
    rows = [(seed, names[key], value) for key, own in values.items() for seed, value in enumerate(own)]
    found = pd.DataFrame(rows, columns=["seed", "quantity", "value"])
    return found.assign(benchmark="set", form="full", problem="eggbox", program=program)


def test_a_cell_has_the_cost_of_a_tenth_of_a_nat_the_largest_z_and_warnings():
    rows = [
        _rows("auxmc", cold=[3, 3], second=[2, 2], error=[0.2, -0.2], stated=[0.1, 0.1], warnings=[0, 2]),
        _rows("dynesty", cold=[5, 5], second=[4, 4], error=[0.4, 0.0], stated=[0.1, 0.1], warnings=[0, 0]),
        _rows("jaxns", cold=[np.inf, 100.0]),
        _rows("nautilus", cold=[70.0], error=[0.01], stated=[0.01], warnings=[0]),
        _rows("PyMC, SMC", cold=[np.nan]),
    ]
    text = evidence_set.table(pd.concat(rows), evidence_set.BENCHMARKS["evidence_set"])
    cells = next(line for line in text.splitlines() if line.startswith("| `eggbox`")).split(" | ")
    # One second of compilation, and four times the other two; 1 + 4 (0.4 / root 2 / 0.1)^2.
    assert cells[1:] == ["9;2;1w", ">120", "**33;4**", "70;1", "failed |"]
    assert text.splitlines()[0] == "| problem | auxmc | jaxns | dynesty | nautilus | PyMC, SMC |"
