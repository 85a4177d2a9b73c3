"""Boltzmann machines and their relaxations: generation, exact sums, moments, density, own data, messages."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.approximations.mean_field import MeanFieldFits
from auxmc.errors import DataError
from experiments.boltzmann.model import data, machine
from experiments.boltzmann.model.diagonal_shift import smallest_diagonal_shift
from experiments.boltzmann.model.enumeration import exact_moments, sample_exactly, sign_table


def _brute_force(parameters):
    states = np.array(list(itertools.product([-1.0, 1.0], repeat=parameters.n_units)))
    logs = np.array([0.5 * s @ parameters.weights @ s + s @ parameters.biases for s in states])
    weights = np.exp(logs - logs.max())
    total = weights.sum()
    weights = weights / total
    return float(np.log(total) + logs.max()), weights @ states, (states * weights[:, None]).T @ states


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


def test_fewer_systems_are_the_first_of_the_stream():
    np.testing.assert_array_equal(
        data.generate_parameters(6, 1)[0].weights, data.generate_parameters(6, 3)[1].weights
    )


def test_orthogonal_matrices_are_orthogonal_and_of_both_orientations():
    rng = np.random.RandomState(1)
    matrices = [data.random_orthogonal(rng, 5) for _ in range(40)]
    for matrix in matrices:
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(5), atol=1e-13)
    assert {round(float(np.linalg.det(matrix))) for matrix in matrices} == {-1, 1}


def test_too_small_systems_are_rejected():
    with pytest.raises(ValueError, match="n_units must be at least 2 and n_systems 1, got 1 and 3"):
        data.generate_parameters(1, 3)


@pytest.mark.parametrize("n_units", [2, 3, 4, 7, 10, 11])
def test_exact_moments_are_those_of_all_states(n_units):
    rng = np.random.default_rng(n_units)
    weights = 2.0 * rng.normal(size=(n_units, n_units))
    weights = weights + weights.T
    np.fill_diagonal(weights, 0.0)
    parameters = data.BoltzmannParameters(weights, rng.normal(size=n_units))
    log_normaliser, mean, second = _brute_force(parameters)
    found = exact_moments(parameters)
    assert found.log_normaliser == pytest.approx(log_normaliser, abs=1e-11)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.second, second, atol=1e-12)


def test_exact_samples_hit_only_states_of_the_distribution_and_the_rare_ones_rarely():
    """With strong weights two states hold all mass: every draw is one of them."""
    weights = 20.0 * (np.ones((6, 6)) - np.eye(6))
    samples = sample_exactly(data.BoltzmannParameters(weights, np.zeros(6)), 200, np.random.default_rng(0))
    assert set(map(tuple, samples)) == {(1.0,) * 6, (-1.0,) * 6}


def test_samples_follow_a_machine_of_independent_spins():
    biases = np.array([30.0, -30.0, 30.0, -30.0, 30.0])
    samples = sample_exactly(data.BoltzmannParameters(np.zeros((5, 5)), biases), 50, np.random.default_rng(0))
    np.testing.assert_array_equal(samples, np.tile(np.sign(biases), (50, 1)))


def test_limits_of_exact_sums_are_named():
    with pytest.raises(ValueError, match="at most 30 units, got 31"):
        exact_moments(data.BoltzmannParameters(np.zeros((31, 31)), np.zeros(31)))
    strong = 1000.0 * (np.ones((6, 6)) - np.eye(6))
    with pytest.raises(ValueError, match=r"too large for exact sums in double precision.*scale weights"):
        exact_moments(data.BoltzmannParameters(strong, np.zeros(6)))


def test_states_are_counted_like_binary_numbers():
    assert sign_table(3)[5].tolist() == [1.0, -1.0, 1.0]


def test_density_is_the_mixture_over_all_states():
    """Thesis Eqs. E.7 to E.9: cosh form and explicit mixture agree, and so do their normalisers."""
    parameters, relaxation = _relaxation(4)
    states = sign_table(4)
    logs = 0.5 * np.einsum("si,ij,sj->s", states, parameters.weights, states) + states @ parameters.biases
    log_density = jax.jit(machine.relaxation_log_density(relaxation))
    log_z = machine.relaxed_moments(relaxation, exact_moments(parameters)).log_normaliser
    dim = relaxation.dim
    for x in np.random.default_rng(2).normal(scale=2.0, size=(10, dim)):
        components = logs - 0.5 * np.sum((x - states @ relaxation.loadings) ** 2, axis=1)
        components -= 0.5 * dim * np.log(2 * np.pi)
        log_mixture = np.logaddexp.reduce(components) - np.logaddexp.reduce(logs)
        assert float(log_density(x)) - log_z == pytest.approx(log_mixture, abs=1e-8)


def test_normaliser_and_moments_agree_with_quadrature_in_the_plane():
    weights = np.array([[0.0, 1.2, -0.4], [1.2, 0.0, 0.5], [-0.4, 0.5, 0.0]])
    parameters = data.BoltzmannParameters(weights, np.array([0.1, -0.2, 0.3]))
    shift = smallest_diagonal_shift(weights)
    relaxation = machine.relax(parameters, shift)
    assert relaxation.dim == 2
    grid = np.linspace(-12.0, 12.0, 401)
    x = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(np.asarray(jax.vmap(machine.relaxation_log_density(relaxation))(x)))
    cell = (grid[1] - grid[0]) ** 2
    truth = machine.relaxed_moments(relaxation, exact_moments(parameters))
    total = density.sum() * cell
    # Two of the three eigenvalues are kept, and the third is zero to the accuracy of the solver.
    assert np.log(total) == pytest.approx(truth.log_normaliser, abs=1e-6)
    mean = density @ x * cell / total
    np.testing.assert_allclose(mean, truth.mean, atol=1e-6)
    second = (x * density[:, None]).T @ x * cell / total
    np.testing.assert_allclose(second - np.outer(mean, mean), truth.covariance, atol=1e-6)


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
    values, gradients = joined.log_densities_and_gradients(x)
    np.testing.assert_allclose(values, joined.log_densities(x), rtol=1e-13)
    fields = np.asarray(x) @ rotated.loadings.T + parameters.biases
    expected = np.sum(np.log(np.cosh(fields))) - 0.5 * float(x @ x)
    assert float(values[0]) == pytest.approx(expected, rel=1e-13)
    assert joined.log_zeta == base.log_normaliser
    for k in range(2):
        automatic = jax.grad(lambda x, k=k: joined.log_densities(x)[k])(x)
        np.testing.assert_allclose(gradients[k], automatic, rtol=1e-10, atol=1e-10)
    # The base is normalised: its draws have the density that it says, up to the noise.
    noise = jnp.asarray(np.random.default_rng(4).normal(size=rotated.dim))
    log_noise = -0.5 * float(noise @ noise) - 0.5 * len(noise) * np.log(2 * np.pi)
    jacobian = jax.jacobian(joined.draw_base)(noise)
    log_density = log_noise - float(np.linalg.slogdet(jacobian)[1])
    assert float(joined.log_densities(joined.draw_base(noise))[1]) == pytest.approx(log_density, rel=1e-12)


def test_rotation_to_the_diagonal_basis_changes_no_invariant():
    parameters, relaxation = _relaxation(7)
    means = np.tanh(np.random.default_rng(0).normal(size=(3, 7)))
    base = machine.mixture_moments(relaxation, MeanFieldFits(means, np.zeros(3), np.zeros(3)))
    rotated, diagonal = machine.in_diagonal_basis(relaxation, base)
    np.testing.assert_allclose(diagonal.covariance, np.diag(np.diag(diagonal.covariance)))
    spins = exact_moments(parameters)
    before, after = machine.relaxed_moments(relaxation, spins), machine.relaxed_moments(rotated, spins)
    assert after.log_normaliser == before.log_normaliser
    distances = [np.linalg.norm(t.mean - b.mean) for t, b in ((before, base), (after, diagonal))]
    assert distances[0] == pytest.approx(distances[1], rel=1e-12)
    norms = [np.linalg.norm(t.covariance - b.covariance) for t, b in ((before, base), (after, diagonal))]
    assert norms[0] == pytest.approx(norms[1], rel=1e-12)


def test_many_units_do_not_overflow_the_product_of_factors():
    n = 1100
    parameters = data.BoltzmannParameters(np.zeros((n, n)), np.zeros(n))
    relaxation = machine.relax(parameters, np.concatenate([[1.0], np.zeros(n - 1)]))
    log_density = float(machine.relaxation_log_density(relaxation)(jnp.zeros(1)))
    assert log_density == pytest.approx(0.0, abs=1e-9)


def test_bases_that_are_not_diagonal_and_weights_that_are_zero_are_rejected():
    _, relaxation = _relaxation(5)
    base = machine.mixture_moments(relaxation, MeanFieldFits(np.eye(5)[:3], np.zeros(3), np.zeros(3)))
    with pytest.raises(ValueError, match="use in_diagonal_basis"):
        machine.relaxation_bridge(relaxation, base)
    with pytest.raises(ValueError, match="the weights are zero"):
        machine.relax(data.BoltzmannParameters(np.zeros((3, 3)), np.zeros(3)), np.zeros(3))


_GOOD = np.array([[0.0, 0.5, -1.0], [0.5, 0.0, 0.2], [-1.0, 0.2, 0.0]])


def test_archives_and_tables_give_the_same_parameters(tmp_path):
    biases = np.array([0.1, 0.2, -0.3])
    np.savez(tmp_path / "a.npz", weights=_GOOD, biases=biases)
    np.savetxt(tmp_path / "a.csv", np.column_stack([_GOOD, biases]), delimiter=",")
    np.savetxt(tmp_path / "b.csv", _GOOD, delimiter=",")
    np.savez(tmp_path / "b.npz", weights=_GOOD)
    for name in ("a.npz", "a.csv"):
        found = data.read_parameters(tmp_path / name)
        np.testing.assert_array_equal(found.weights, _GOOD)
        np.testing.assert_array_equal(found.biases, biases)
    for name in ("b.npz", "b.csv"):
        np.testing.assert_array_equal(data.read_parameters(tmp_path / name).biases, np.zeros(3))


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
        (_GOOD, np.zeros(2), r"biases must be a vector of 3 numbers, one a unit of weights, got \[2\]"),
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
    (tmp_path / "text.csv").write_text("0,2\na,0\n")
    with pytest.raises(DataError, match="'a' is not a number"):
        data.read_parameters(tmp_path / "text.csv")
    np.savez(tmp_path / "other.npz", matrix=_GOOD)
    with pytest.raises(DataError, match=r"no array 'weights' \(arrays: matrix\)"):
        data.read_parameters(tmp_path / "other.npz")
    np.savez(tmp_path / "complex.npz", weights=_GOOD.astype(complex))
    with pytest.raises(DataError, match=r"weights\[0, 0\]: '0j' is not a number but a complex"):
        data.read_parameters(tmp_path / "complex.npz")
    (tmp_path / "bad.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="not a NumPy file of plain arrays"):
        data.read_parameters(tmp_path / "bad.npz")
    (tmp_path / "bad.npz").write_bytes(b"")
    with pytest.raises(DataError, match=r"bad\.npz: the file is empty"):
        data.read_parameters(tmp_path / "bad.npz")
    with pytest.raises(DataError, match="no such file"):
        data.read_parameters(tmp_path / "missing.npz")


def test_published_diagonals_need_their_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("AUXMC_DATA_DIR", raising=False)
    with pytest.raises(
        DataError, match="set AUXMC_DATA_DIR to the folder that holds it, or use shift=optimal"
    ):
        data.published_shift(0)
    monkeypatch.setenv("AUXMC_DATA_DIR", str(tmp_path))
    with pytest.raises(DataError, match="no such file; AUXMC_DATA_DIR must be the folder that holds"):
        data.published_shift(0)
    folder = tmp_path / "continuous_tempering" / "derived"
    folder.mkdir(parents=True)
    np.savez(folder / "bmr_author_D.npz", D_3=np.arange(30.0))
    np.testing.assert_array_equal(data.published_shift(3), np.arange(30.0))
