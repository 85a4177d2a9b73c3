"""The Boltzmann machine study: runs of a few units, machines, relaxations and bases against brute force."""

import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.approximations.mean_field import MeanFieldFits
from auxmc.diagnostics.tempered_evidence import log_evidence, weighted_moments
from auxmc.errors import DataError
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.chains import RunContext
from experiments.boltzmann import measure, problem, run
from experiments.boltzmann.claims import at_equal_times
from experiments.boltzmann.model import data, machine
from experiments.boltzmann.model.diagonal_shift import smallest_diagonal_shift
from experiments.boltzmann.model.enumeration import exact_moments, sample_exactly
from experiments.boltzmann.problem import build_problem
from experiments.boltzmann.programs import block_summaries
from experiments.boltzmann.relative_errors import Averages
from experiments.boltzmann.settings import METHODS, PUBLISHED, method_settings, programs
from experiments.boltzmann.systems import leading, solved_shift

STUDY = load_study("boltzmann")
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "boltzmann.csv"
TINY = [
    "preset=smoke", "n_units=6", "n_chains=4", "n_repeats=2", "n_draws=20", "summary_size=5", "n_runs=6",
    "n_temperatures=4", "n_fits=5", "n_systems=2", "n_exact_samples=50", "n_spectra=10",
]  # fmt: skip


def _run(folder, *words):
    return run.run(STUDY.settings([*TINY, *words]), RunContext("boltzmann", 1, folder, "identity", "tiny"))


def test_the_published_sizes_are_those_of_the_thesis():
    cases = STUDY.cases("paper")
    chains = [case.settings for case in cases if case.name.startswith("chains__")]
    assert len(chains) == 10
    lengths = {method: method_settings(chains[0], method).length for method in ("st", "gibbs_ct", "ct_hmc")}
    assert lengths == {"st": 20_000, "gibbs_ct": 30_000, "ct_hmc": 25_000}
    annealed = next(case.settings for case in cases if case.name.startswith("annealed"))
    assert programs(annealed) == list(itertools.product(["h_ais", "ais_10", "ais_20"], [1000, 5000, 10_000]))
    assert [method_settings(annealed, m).n_runs for m in ("h_ais", "ais_10", "ais_20")] == [500, 100, 100]


def test_numbers_of_methods_are_the_published_ones_unless_given():
    settings = STUDY.settings([*TINY, "length=0.001"])
    for method in METHODS:
        numbers = method_settings(settings, method)
        assert numbers.step_size == 0.5
        assert numbers.n_steps == PUBLISHED[method].n_steps
    assert method_settings(settings, "st").length == 20
    assert method_settings(settings, "h_ais").refreshment == pytest.approx(0.5412, abs=1e-4)
    given = STUDY.settings([*TINY, "n_steps=3", "step_size=0.2", "refreshment=0.9", "variational=converged"])
    numbers = method_settings(given, "gibbs_ct")
    assert (numbers.n_steps, numbers.step_size, numbers.refreshment) == (3, 0.2, 0.9)
    assert (numbers.variational, numbers.length) == ("converged", 20)


def test_starts_of_all_systems_come_from_one_stream():
    stream = np.random.RandomState(201702)
    for system in (0, 1):
        np.testing.assert_array_equal(problem.mean_field_starts(system, 7, 4), stream.normal(size=(7, 4)))


def test_base_and_reference_are_told_apart():
    settings = STUDY.settings([*TINY, "n_fits=30"])
    published, converged = (build_problem(settings, variant) for variant in ("published", "converged"))
    assert published.reference.log_normaliser == published.base.log_normaliser
    assert converged.reference.log_normaliser == published.base.log_normaliser
    assert converged.truth.log_normaliser == published.truth.log_normaliser
    assert converged.n_fits <= published.n_fits
    # Errors are norms: the basis in which they are taken does not matter.
    errors = [measure.base_errors(p.reference, p.truth) for p in (published, converged)]
    np.testing.assert_allclose(*errors, rtol=1e-8)


def _made_up_draws(dim, n_chains=4, n_blocks=3, size=5):
    rng = np.random.default_rng(0)
    logs = 3.0 * rng.normal(size=(n_chains, n_blocks, size, 2))
    x = rng.normal(size=(n_chains, n_blocks, size, dim))
    top = logs.max(axis=2)
    w = np.exp(logs - top[:, :, None])
    draws = {
        "log_scale": top,
        "total": w.sum(axis=2),
        "first": np.einsum("cbds,cbdi->cbsi", w, x),
        "second": np.einsum("cbds,cbdi,cbdj->cbsij", w, x, x),
        "start_log_weights": logs[:, :, 0],
        "start_position": x[:, :, 0],
        "n_accepted": np.full((n_chains, n_blocks), size - 1),
    }
    counts = "n_not_finite", "n_pairs", "n_pattern_changes", "n_near_target"
    draws |= dict.fromkeys(counts, np.full((n_chains, n_blocks), 1))
    return draws, logs.reshape(n_chains, -1, 2), x.reshape(n_chains, -1, dim)


def test_curves_and_statistics_agree_with_estimates_from_all_states():
    where = build_problem(STUDY.settings(TINY), "published")
    truth, unit = where.truth, measure.base_errors(where.reference, where.truth)
    draws, logs, x = _made_up_draws(where.relaxation.dim)

    def expected(chains, n):
        target, base = logs[chains, :n, 0], logs[chains, :n, 1]
        mean, covariance = weighted_moments(target, x[chains, :n])
        log_z = log_evidence(target, base)
        errors = log_z - truth.log_normaliser, mean - truth.mean, covariance - truth.covariance
        return np.array([np.sqrt(np.mean(np.square(error))) for error in errors]) / unit

    all_curves = measure.chain_curves(draws, where, "gibbs_ct", 2, 5)
    curves = all_curves["relative_error"]
    assert curves["n_samples"].values.tolist() == [1, 6, 11, 15]
    for n in (1, 6, 11, 15):
        at = curves.sel(n_samples=n)
        np.testing.assert_allclose(at.sel(pooling="disjoint", repeat=1), expected([2, 3], n), rtol=1e-9)
        np.testing.assert_allclose(at.sel(pooling="nested", repeat=1), expected([1, 2, 3], n), rtol=1e-9)
        single = np.mean([expected([c], n) for c in (0, 1)], axis=0)
        np.testing.assert_allclose(at.sel(pooling="single", repeat=0), single, rtol=1e-9)
    found = measure.chain_statistics(draws, where, "gibbs_ct", 2, 5)
    np.testing.assert_allclose(found["pooled_error"], expected([0, 1, 2, 3], 15), rtol=1e-9)
    assert float(found["acceptance"]) == pytest.approx(0.8)
    assert int(found["n_not_finite"]) == 12
    by_group = np.mean([expected([0, 1], 15), expected([2, 3], 15)], axis=0)
    by_weight = found["error_by_target_weights"].mean("repeat")
    np.testing.assert_allclose(by_weight[1:], by_group[1:], rtol=1e-9)
    # Nested groups share chains: the error of their average is from leaving each chain out of both.
    nested = [[0, 1], [1, 2, 3]]
    without = lambda c: np.mean([expected([i for i in group if i != c], 15) for group in nested], axis=0)
    jackknife = np.sqrt(3.0) * np.std([without(c) for c in range(4)], axis=0)
    error = all_curves["nested_average_error"].sel(n_samples=15)
    np.testing.assert_allclose(error, jackknife, rtol=1e-7)


@pytest.mark.parametrize("base", ["renyi", "ep", "exact"])
def test_a_base_has_the_moments_of_its_recipe_and_changes_no_target(base):
    before = build_problem(STUDY.settings(TINY), "published")
    moments = problem.fitted_moments(before, base)
    after = problem.rebased(before, moments)
    # Rotations change neither normalisers nor norms.
    assert after.truth.log_normaliser == before.truth.log_normaliser
    errors = [measure.base_errors(p.reference, p.truth) for p in (after, before)]
    np.testing.assert_allclose(*errors, rtol=1e-7)
    variances = np.linalg.eigvalsh(moments.covariance)
    np.testing.assert_allclose(np.diag(after.base.covariance), variances, rtol=1e-9)
    x = np.random.default_rng(0).normal(size=before.relaxation.dim)
    basis = np.linalg.eigh(moments.covariance)[1]
    np.testing.assert_allclose(after.base.mean, moments.mean @ basis, atol=1e-12)
    one, other = before.bridge.log_densities(x), after.bridge.log_densities(x @ basis)
    assert float(one[0]) == pytest.approx(float(other[0]), rel=1e-12)


def test_expectation_propagation_is_accurate_for_weak_weights():
    parameters = data.generate_parameters(6, 1)[0]
    weak = parameters._replace(weights=0.1 * parameters.weights)
    relaxation = machine.relax(weak, smallest_diagonal_shift(weak.weights))
    where = build_problem(STUDY.settings(TINY), "published")._replace(relaxation=relaxation)
    fit, truth = problem.fitted_moments(where, "ep"), machine.relaxed_moments(relaxation, exact_moments(weak))
    assert fit.log_normaliser == pytest.approx(truth.log_normaliser, abs=0.02)
    np.testing.assert_allclose(fit.mean, truth.mean, atol=0.05)
    np.testing.assert_allclose(fit.covariance, truth.covariance, atol=0.05)


def test_a_pilot_run_gives_the_base_and_its_cost_is_taken_from_the_run(tmp_path):
    words = ["method=gibbs_ct", "n_draws=40", "pilot_fraction=0.25", "+batch.base=[mixture,pilot_zeta,pilot]"]
    found = _run(tmp_path, *words)
    assert set(found) == {"statistics"}
    at = {base: found["statistics"].sel(base=base).squeeze() for base in ("mixture", "pilot_zeta", "pilot")}
    assert int(at["mixture"]["n_samples_total"]) == 4 * 40
    assert int(at["pilot"]["n_samples_total"]) == 4 * 30
    log_zeta = {base: float(found["log_zeta"]) for base, found in at.items()}
    assert log_zeta["pilot"] == log_zeta["pilot_zeta"] != log_zeta["mixture"]
    errors = found["statistics"]["final_error"]
    assert errors.sizes == {"method": 1, "base": 3, "repeat": 2, "coordinate": 3}
    by_weight = at["pilot"]["error_by_target_weights"].values
    np.testing.assert_allclose(at["pilot"]["final_error"].values[:, 1:], by_weight[:, 1:], rtol=1e-9)


@pytest.mark.slow
def test_cases_report_what_they_did(tmp_path):
    chains = _run(tmp_path / "chains", "+batch.method=[st,gibbs_ct,ct_hmc,hmc,tuned]")
    statistics = chains["statistics"]
    assert list(statistics["method"].values) == sorted(["st", "gibbs_ct", "ct_hmc", "hmc", "tuned"])
    for name in ("n_not_finite", "acceptance", "pooled_error", "gradients_per_repeat", "seconds_per_repeat"):
        assert name in statistics
    # `method` is an argument of `sel` itself.
    tempered = statistics.sel({"method": ["st", "gibbs_ct", "ct_hmc", "tuned"]})
    assert np.all(np.isfinite(tempered["log_z_estimate"]))
    assert float(tempered["gradients_per_repeat"].sel({"method": "gibbs_ct"})) == 20 * 20 * 2
    assert chains["curves"]["n_samples"].values.tolist() == [1, 6, 11, 16, 20]
    annealed = _run(tmp_path / "annealed", "method=h_ais", "+batch.n_temperatures=[3,4]")["statistics"]
    assert annealed["annealed_error"].sel({"method": "h_ais"}).shape == (2, 2, 3)
    assert annealed["gradients_per_repeat"].values.tolist() == [[6 * 2, 6 * 3]]


def test_only_equal_eigenvalues_lead_together():
    """The largest eigenvalue of the system of 28 units is a triple one; the fourth is 0.8 % below."""
    eigenvalues = np.array([11.66187008, 11.75590962, 11.75590956, 11.58593835, 11.75590942])
    assert leading(eigenvalues).tolist() == [1, 2, 4]
    assert leading(eigenvalues[[0, 3]]).tolist() == [0]


def test_own_weights_are_estimated_with_and_without_a_truth(tmp_path, monkeypatch):
    words = f"data={EXAMPLE}", "method=gibbs_ct"
    found = _run(tmp_path / "a", *words)
    assert np.isfinite(found["statistics"]["log_z_standard_error"].item())
    assert "pooled_error" in found["statistics"]
    monkeypatch.setattr(problem, "MAX_UNITS", 4)
    beyond = _run(tmp_path / "b", *words)
    assert "pooled_error" not in beyond["statistics"]
    assert set(beyond["curves"].data_vars) == {"mean_estimate"}
    estimates = [result["statistics"]["log_z_estimate"].item() for result in (found, beyond)]
    assert estimates[0] == pytest.approx(estimates[1], rel=1e-12)


def test_methods_are_compared_when_equal_times_have_passed():
    points = np.array([1.0, 201.0, 401.0, 601.0, 801.0])
    repeats = 1.0 + 0.01 * np.arange(10)
    # Errors fall as one over the samples, of which the first takes no time and is not compared.
    ratios = [201.0 / 401.0, 401.0 / 801.0]
    curve = Averages(points, repeats / points[:, None, None] * np.ones((5, 4, 1)), np.arange(4.0))
    np.testing.assert_allclose(curve.standard_error, repeats.std(ddof=1) / points / np.sqrt(40.0), rtol=1e-12)
    for largest, ratio in ((True, ratios[0]), (False, np.prod(ratios) ** 0.5)):
        found = at_equal_times([curve], [curve], 2.0, largest=largest)
        assert found.value == pytest.approx(ratio)
        assert 0.0 < found.error < 0.02


def test_a_stay_ends_where_the_sign_of_a_unit_changes():
    signs = np.array(
        [[[0, 1], [0, 1], [1, 1], [1, 1], [1, 1]], [[0, 0], [0, 1], [1, 1], [1, 0], [1, 1]]], bool
    )
    assert measure.longest_stay(signs).tolist() == [3, 1]


def test_a_diagonal_is_known_without_norm_and_largest_variance():
    parameters = data.generate_parameters(6, 1)[0]
    shift = smallest_diagonal_shift(parameters.weights) + np.linspace(0.31, 0.72, 6)
    spins = exact_moments(parameters)
    truth = machine.relaxed_moments(machine.relax(parameters, shift), spins)
    variances, directions = np.linalg.eigh(truth.covariance)
    variances[-1] += 5.0  # neither it nor the length of the mean is used
    covariance = (directions * variances) @ directions.T
    found = solved_shift(parameters, spins, 2.0 * truth.mean, covariance, shift + 0.004)
    np.testing.assert_allclose(found, shift, rtol=1e-7)


def _all_states(parameters):
    """States [state, unit] and their unnormalised log probabilities."""
    states = np.array(list(itertools.product([-1.0, 1.0], repeat=parameters.n_units)))
    logs = 0.5 * np.einsum("si,ij,sj->s", states, parameters.weights, states) + states @ parameters.biases
    return states, logs


def _relaxation(n_units):
    parameters = data.generate_parameters(n_units, 1)[0]
    return parameters, machine.relax(parameters, smallest_diagonal_shift(parameters.weights))


def test_recipe_gives_the_numbers_of_the_author():
    systems = data.generate_parameters()
    first, last = systems[1], systems[0]
    assert first.weights[0, 1] == pytest.approx(0.07172659429772621, abs=1e-12)
    assert first.biases[0] == -0.0721017391273513
    assert last.weights[12, 29] == pytest.approx(-0.8284380516243898, abs=1e-12)
    assert last.biases[0] == 0.0532386000394117
    # Fewer systems are the first of the stream.
    first, again = data.generate_parameters(6, 1)[0], data.generate_parameters(6, 3)[1]
    np.testing.assert_array_equal(first.weights, again.weights)


def _coupled(n_units, weight):
    """A machine without biases whose units all have one weight."""
    matrix = weight * (np.ones((n_units, n_units)) - np.eye(n_units))
    return data.BoltzmannParameters(matrix, np.zeros(n_units))


@pytest.mark.parametrize("n_units", [2, 3, 4, 7, 10, 11])
def test_exact_moments_are_those_of_all_states(n_units):
    rng = np.random.default_rng(n_units)
    weights = 2.0 * rng.normal(size=(n_units, n_units))
    weights = weights + weights.T
    np.fill_diagonal(weights, 0.0)
    parameters = data.BoltzmannParameters(weights, rng.normal(size=n_units))
    states, logs = _all_states(parameters)
    log_normaliser = np.logaddexp.reduce(logs)
    weights = np.exp(logs - log_normaliser)
    found = exact_moments(parameters)
    assert found.log_normaliser == pytest.approx(log_normaliser, abs=1e-11)
    np.testing.assert_allclose(found.mean, weights @ states, atol=1e-12)
    np.testing.assert_allclose(found.second, (states * weights[:, None]).T @ states, atol=1e-12)


def test_exact_samples_hit_only_states_of_the_distribution_and_the_rare_ones_rarely():
    """With strong weights two states hold all mass: every draw is one of them."""
    samples = sample_exactly(_coupled(6, 20.0), 200, np.random.default_rng(0))
    assert set(map(tuple, samples)) == {(1.0,) * 6, (-1.0,) * 6}


def test_density_is_the_mixture_over_all_states():
    """Thesis Eqs. E.7 to E.9: cosh form and explicit mixture agree, and so do their normalisers."""
    parameters, relaxation = _relaxation(4)
    states, logs = _all_states(parameters)
    log_density = jax.jit(machine.relaxation_log_density(relaxation))
    log_z = machine.relaxed_moments(relaxation, exact_moments(parameters)).log_normaliser
    dim = relaxation.dim
    for x in np.random.default_rng(2).normal(scale=2.0, size=(10, dim)):
        components = logs - 0.5 * np.sum((x - states @ relaxation.loadings) ** 2, axis=1)
        components -= 0.5 * dim * np.log(2 * np.pi)
        log_mixture = np.logaddexp.reduce(components) - np.logaddexp.reduce(logs)
        assert float(log_density(x)) - log_z == pytest.approx(log_mixture, abs=1e-8)


def test_samples_are_shifted_spins_with_unit_noise():
    parameters, relaxation = _relaxation(6)
    spins = sample_exactly(parameters, 400, np.random.default_rng(0))
    samples = machine.relaxed_samples(relaxation, spins, np.random.default_rng(1))
    noise = samples - spins @ relaxation.loadings
    expected = np.random.default_rng(1).normal(size=noise.shape)
    np.testing.assert_allclose(noise, expected, atol=1e-12)


def test_mixture_of_one_fit_is_a_normal_around_it():
    _, relaxation = _relaxation(5)
    means = np.array([[0.5, -0.5, 0.1, 0.9, 0.0]])
    base = machine.mixture_moments(relaxation, MeanFieldFits(means, np.array([1.7]), np.zeros(1)))
    np.testing.assert_allclose(base.mean, means[0] @ relaxation.loadings)
    np.testing.assert_allclose(base.covariance, np.eye(relaxation.dim), atol=1e-14)
    assert base.log_normaliser == pytest.approx(1.7 + relaxation.log_constant)


def test_bridge_has_the_log_densities_and_derivatives_of_its_parts():
    parameters, relaxation = _relaxation(9)
    means = np.tanh(np.random.default_rng(0).normal(size=(4, 9)))
    base = machine.mixture_moments(relaxation, MeanFieldFits(means, np.arange(4.0), np.zeros(4)))
    rotated, diagonal = machine.in_diagonal_basis(relaxation, base)
    joined = machine.relaxation_bridge(rotated, diagonal)
    x = jnp.asarray(np.random.default_rng(3).normal(scale=3.0, size=rotated.dim))
    noise = jnp.asarray(np.random.default_rng(4).normal(size=rotated.dim))

    @jax.jit
    def evaluate(x, noise):
        both = joined.log_densities_and_gradients(x), joined.log_densities(x)
        automatic = [jax.grad(lambda x, k=k: joined.log_densities(x)[k])(x) for k in range(2)]
        drawn = joined.log_densities(joined.draw_base(noise))[1]
        return *both, automatic, drawn, jax.jacobian(joined.draw_base)(noise)

    (values, gradients), alone, automatic, drawn, jacobian = evaluate(x, noise)
    np.testing.assert_allclose(values, alone, rtol=1e-13)
    fields = np.asarray(x) @ rotated.loadings.T + parameters.biases
    expected = np.sum(np.log(np.cosh(fields))) - 0.5 * float(x @ x)
    assert float(values[0]) == pytest.approx(expected, rel=1e-13)
    assert joined.log_zeta == base.log_normaliser
    np.testing.assert_allclose(gradients, automatic, rtol=1e-10, atol=1e-10)
    # The base is normalised: its draws have the density that it says, up to the noise.
    log_noise = -0.5 * float(noise @ noise) - 0.5 * len(noise) * np.log(2 * np.pi)
    assert float(drawn) == pytest.approx(log_noise - np.linalg.slogdet(jacobian)[1], rel=1e-12)


def test_many_units_do_not_overflow_the_product_of_factors():
    n = 1100
    relaxation = machine.relax(_coupled(n, 0.0), np.concatenate([[1.0], np.zeros(n - 1)]))
    log_density = float(machine.relaxation_log_density(relaxation)(jnp.zeros(1)))
    assert log_density == pytest.approx(0.0, abs=1e-9)


_GOOD = np.array([[0.0, 0.5, -1.0], [0.5, 0.0, 0.2], [-1.0, 0.2, 0.0]])


def test_archives_and_tables_give_the_same_parameters(tmp_path):
    biases = np.array([0.1, 0.2, -0.3])
    np.savez(tmp_path / "a.npz", weights=_GOOD, biases=biases)
    np.savetxt(tmp_path / "a.csv", np.column_stack([_GOOD, biases]), delimiter=",")
    np.savetxt(tmp_path / "b.csv", _GOOD, delimiter=",")
    np.savez(tmp_path / "b.npz", weights=_GOOD)
    for name, expected in (("a", biases), ("b", np.zeros(3))):
        for path in (tmp_path / f"{name}.npz", tmp_path / f"{name}.csv"):
            found = data.read_parameters(path)
            np.testing.assert_array_equal(found.weights, _GOOD)
            np.testing.assert_array_equal(found.biases, expected)


def _changed(i, j, value):
    matrix = _GOOD.copy()
    matrix[i, j] = value
    return matrix


@pytest.mark.parametrize(
    ("weights", "biases", "message"),
    [
        (_changed(0, 2, 3.0), np.zeros(3), r"not symmetric: element \(1, 3\) is 3 and \(3, 1\) is -1"),
        (_changed(1, 1, 0.7), np.zeros(3), r"element \(2, 2\) is 0.7; the diagonal must be zero"),
        (_changed(1, 0, np.nan), np.zeros(3), r"weights, element \(2, 1\): nan is not a finite number"),
        (_GOOD, np.array([0.0, np.inf, 0.0]), r"biases, element \(2\): inf is not a finite number"),
        (_GOOD, np.zeros(2), r"biases must be a vector of 3 numbers, one a unit, got \[2\]"),
        (_GOOD[:2], np.zeros(2), r"weights must be a square matrix of 2 units or more, got shape \[2, 3\]"),
        (np.zeros((1, 1)), np.zeros(1), "square matrix of 2 units or more"),
    ],
)
def test_parameters_that_are_no_machine_are_rejected(weights, biases, message):
    with pytest.raises(DataError, match=f"here: .*{message}"):
        data.check_parameters(weights, biases, "here")


def test_files_that_cannot_be_used_say_why(tmp_path):
    (tmp_path / "wide.csv").write_text("0,2,2,3,4\n2,0,2,3,4\n")
    with pytest.raises(DataError, match="has 2 rows and 5 columns; give a row for each unit"):
        data.read_parameters(tmp_path / "wide.csv")
    np.savez(tmp_path / "other.npz", matrix=_GOOD)
    with pytest.raises(DataError, match=r"no array 'weights' \(arrays: matrix\)"):
        data.read_parameters(tmp_path / "other.npz")


def test_published_diagonals_need_their_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("AUXMC_DATA_DIR", raising=False)
    advice = "set AUXMC_DATA_DIR to the folder that holds it, or use shift=optimal"
    with pytest.raises(DataError, match=advice):
        data.published_shift(0)
    monkeypatch.setenv("AUXMC_DATA_DIR", str(tmp_path))
    with pytest.raises(DataError, match="no such file; AUXMC_DATA_DIR must be the folder that holds"):
        data.published_shift(0)
    folder = tmp_path / "continuous_tempering" / "derived"
    folder.mkdir(parents=True)
    np.savez(folder / "bmr_author_D.npz", D_3=np.arange(30.0))
    np.testing.assert_array_equal(data.published_shift(3), np.arange(30.0))


def test_shift_of_an_ising_pair_and_of_a_diagonal_matrix():
    np.testing.assert_allclose(smallest_diagonal_shift([[0.0, -3.0], [-3.0, 0.0]]), [3.0, 3.0], atol=1e-6)
    # The least diagonal that is not negative has all eigenvalues zero.
    diagonal = np.array([1.0, -2.0, 5.0])
    np.testing.assert_allclose(smallest_diagonal_shift(np.diag(diagonal)), -diagonal, atol=1e-6)


@pytest.mark.parametrize("n", [3, 8, 15])
def test_shifted_matrix_is_positive_semi_definite_and_no_other_diagonal_is_better(n):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n))
    a = a + a.T
    np.fill_diagonal(a, 0.0)
    shift = smallest_diagonal_shift(a)
    eigenvalues = np.linalg.eigvalsh(a + np.diag(shift))
    assert eigenvalues[0] >= -1e-9
    plain = np.linalg.eigvalsh(a)
    assert eigenvalues[-1] <= plain[-1] - plain[0] + 1e-6
    for _ in range(200):
        other = shift + 0.1 * rng.normal(size=n)
        moved = np.linalg.eigvalsh(a + np.diag(other))
        # Made feasible by the smallest multiple of the identity.
        assert moved[-1] - min(moved[0], 0.0) >= eigenvalues[-1] - 1e-6


KERNEL = random_walk_metropolis(lambda x: -0.5 * jnp.sum(x**2), 1.0, 2)


def test_a_summary_is_that_of_the_single_steps():
    record = lambda state, info: (state.position, info.is_accepted)
    blocks = block_summaries(KERNEL, 7, record, lambda kept: (kept[0], kept[1].sum()))
    key = jax.random.key(3)
    end, (positions, n_accepted) = jax.jit(blocks.step)(key, blocks.init(jnp.ones(2), key=jax.random.key(0)))
    state, total = KERNEL.init(jnp.ones(2), key=jax.random.key(0)), 0
    for i in range(7):
        state, info = KERNEL.step(jax.random.fold_in(key, i), state)
        np.testing.assert_allclose(positions[i], state.position, rtol=1e-13)
        total += int(info.is_accepted)
    np.testing.assert_allclose(end.position, state.position, rtol=1e-13)
    assert int(n_accepted) == total


def _bridge_of_a_full_covariance():
    _, relaxation = _relaxation(5)
    base = machine.mixture_moments(relaxation, MeanFieldFits(np.eye(5)[:3], np.zeros(3), np.zeros(3)))
    return machine.relaxation_bridge(relaxation, base)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: data.generate_parameters(1, 3), "n_units must be at least 2 and n_systems 1, got 1 and 3"),
        (lambda: exact_moments(_coupled(31, 0.0)), "at most 30 units, got 31"),
        (
            lambda: exact_moments(_coupled(6, 1000.0)),
            r"too large for exact sums in double precision.*scale weights",
        ),
        (_bridge_of_a_full_covariance, "use in_diagonal_basis"),
        (lambda: machine.relax(_coupled(3, 0.0), np.zeros(3)), "of the weights exceeds .*: they are zero"),
        (lambda: smallest_diagonal_shift(np.zeros((2, 3))), "square and symmetric"),
        (lambda: smallest_diagonal_shift(np.array([[0.0, 1.0], [2.0, 0.0]])), "square and symmetric"),
        (lambda: smallest_diagonal_shift(np.zeros(3)), "square and symmetric"),
        (lambda: block_summaries(KERNEL, 0, None, None), "n_steps must be at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()
