"""Linear algebra, Jacobians, sums over rows, schedules, random numbers and digests against plain forms."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.scipy.linalg import block_diag

from auxmc.numerics import linalg, random
from auxmc.numerics.annealing import annealing_increment, log_effective_size
from auxmc.numerics.digests import host_calls, program_digest
from auxmc.numerics.jacobians import (
    block_jacobian,
    dense_jacobian,
    diagonal_jacobian,
    markovian_jacobian,
    noisy_jacobian,
)
from auxmc.numerics.row_blocks import row_total, sum_over_rows
from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule
from auxmc.numerics.truncated_exponential import draw_inverse_temperature, log_base_weight, log_target_weight

LOGS = jnp.asarray(np.random.default_rng(2).normal(scale=30.0, size=20) - 1e6)


def test_effective_size_falls_from_the_number_of_particles_to_one():
    sizes = np.exp([float(log_effective_size(step * LOGS)) for step in np.linspace(0.0, 5.0, 400)])
    assert sizes[0] == pytest.approx(20.0)
    assert (np.diff(sizes) <= 1e-10).all()
    assert 1.0 - 1e-12 <= sizes[-1] < 1.001


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e7])
def test_increments_keep_the_size_to_many_digits(scale):
    logs = scale * (LOGS + 1e6)
    step = annealing_increment(logs, jnp.ones(()), np.log(10.0))
    assert 0.0 < float(step) < 1.0
    assert np.exp(float(log_effective_size(step * logs))) == pytest.approx(10.0, rel=1e-7)


def test_the_rest_is_taken_whole_where_it_keeps_the_size():
    remaining = jnp.asarray(1.0 - 0.9)
    assert float(annealing_increment(1e-3 * LOGS, remaining, np.log(10.0))) == float(remaining)
    assert float(annealing_increment(LOGS, remaining, 0.0)) == float(remaining)


def test_lost_particles_do_not_stop_the_others():
    logs = LOGS.at[3].set(-jnp.inf)
    step = annealing_increment(logs, jnp.ones(()), np.log(10.0))
    assert np.exp(float(log_effective_size(step * logs))) == pytest.approx(10.0, rel=1e-7)
    # With fewer left than are asked for a path still comes to its end.
    few = jnp.where(jnp.arange(20) < 3, LOGS, -jnp.inf)
    assert float(annealing_increment(few, jnp.ones(()), np.log(10.0))) == pytest.approx(1e-12)
    assert float(log_effective_size(jnp.full(4, -jnp.inf))) == -np.inf


def _traced(value, kind):
    data = jnp.full(3, value) if kind == "jax" else np.full(3, value)

    def inner(x):
        return jax.lax.cond(x[0] > 0.0, lambda: jnp.sum(x * jnp.asarray(data)), lambda: jnp.zeros(()))

    return jax.jit(jax.vmap(jax.jit(inner))).trace(jnp.zeros((2, 3)))


@pytest.mark.parametrize("kind", ["numpy", "jax"])
@pytest.mark.parametrize("simplified", [False, True])
def test_data_within_a_program_count_wherever_jax_keeps_them(kind, simplified):
    setting = "jax_use_simplified_jaxpr_constants"
    if not hasattr(jax.config, setting):
        pytest.skip("this version of JAX has one way to keep constants")
    before = getattr(jax.config, setting)
    jax.config.update(setting, simplified)
    try:
        digests = [program_digest(_traced(value, kind)) for value in (1.0, 1.0, 9.0)]
    finally:
        jax.config.update(setting, before)
    assert digests[0] == digests[1] != digests[2]


def test_host_code_is_seen_within_loops_and_derivatives():
    shape = jax.ShapeDtypeStruct((), jnp.float64)
    calls = {
        "pure_callback": lambda x: jax.pure_callback(np.sin, shape, x, vmap_method="sequential"),
        "io_callback": lambda x: io_callback(np.sin, shape, x),
    }
    for name, call in calls.items():
        loop = lambda x, call=call: jax.lax.fori_loop(0, 3, lambda i, y: call(y), x)
        assert host_calls(jax.jit(loop).trace(1.0)) == [name]
    assert host_calls(jax.jit(lambda x: jax.debug.print("{}", x) or x).trace(1.0)) == []


N, K = 12, 3
FORMS = ("dense", "block", "diagonal", "markovian", "noisy_wide", "noisy_tall")


def _forms(name, seed, strength=1.0):
    """A structured Jacobian and its matrix; `strength` scales a part of it, for derivatives."""
    rng = np.random.default_rng(seed)
    block = strength * jnp.asarray(rng.normal(size=(N, K)))
    if name == "dense":
        matrix = strength * jnp.asarray(rng.normal(size=(N, N + 4)))
        return dense_jacobian(matrix), matrix
    if name == "block":
        own = strength * jnp.asarray(rng.normal(size=(N // 2, 2, 5)))
        return block_jacobian(block, own), jnp.concatenate([block, block_diag(*own)], axis=1)
    if name == "diagonal":
        diagonal = strength * jnp.asarray(rng.uniform(0.3, 2.0, N) * rng.choice([-1.0, 1.0], N))
        return diagonal_jacobian(block, diagonal), jnp.concatenate([block, jnp.diag(diagonal)], axis=1)
    if name == "markovian":
        n_steps, d = N // 2, 2
        inverse_diagonal = strength * jnp.asarray(rng.normal(size=(n_steps, d, d)) + 3.0 * np.eye(d))
        inverse_subdiagonal = jnp.asarray(rng.normal(size=(n_steps - 1, d, d)))
        inverse = block_diag(*inverse_diagonal).at[d:, :-d].add(block_diag(*inverse_subdiagonal))
        triangular = jnp.linalg.inv(inverse)
        matrix = jnp.concatenate([triangular @ block, triangular], axis=1)
        return markovian_jacobian(block, inverse_diagonal, inverse_subdiagonal), matrix
    width = N + 5 if name == "noisy_wide" else N - 5
    inner = strength * jnp.asarray(rng.normal(size=(N, width)))
    return noisy_jacobian(inner, 0.3), jnp.concatenate([inner, 0.3 * jnp.eye(N)], axis=1)


@pytest.mark.parametrize("name", FORMS)
def test_operations_are_those_of_the_matrix(name):
    jacobian, matrix = _forms(name, 1)
    previous, previous_matrix = _forms(name, 2)
    rng = np.random.default_rng(3)
    v, b = jnp.asarray(rng.normal(size=matrix.shape[1])), jnp.asarray(rng.normal(size=N))
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(jacobian.times(v), matrix @ v, **close)
    np.testing.assert_allclose(jacobian.transposed_times(b), matrix.T @ b, **close)
    np.testing.assert_allclose(matrix @ (matrix.T @ jacobian.solve_gram(b)), b, rtol=1e-8, atol=1e-8)
    cross = jacobian.solve_cross(previous, b)
    np.testing.assert_allclose(matrix @ (previous_matrix.T @ cross), b, rtol=1e-7, atol=1e-7)
    _, log_determinant = np.linalg.slogdet(matrix @ matrix.T)
    np.testing.assert_allclose(jacobian.half_log_determinant, 0.5 * log_determinant, **close)


@pytest.mark.parametrize("name", FORMS)
def test_derivative_of_the_log_determinant_is_that_of_the_dense_form(name):
    structured = jax.grad(lambda s: _forms(name, 4, s)[0].half_log_determinant)(1.1)

    def dense(strength):
        matrix = _forms(name, 4, strength)[1]
        return 0.5 * jnp.linalg.slogdet(matrix @ matrix.T)[1]

    np.testing.assert_allclose(structured, jax.grad(dense)(1.1), rtol=1e-9)


def test_a_singular_matrix_gives_no_finite_log_determinant():
    assert not np.isfinite(dense_jacobian(jnp.ones((2, 3))).half_log_determinant)
    assert not np.isfinite(diagonal_jacobian(jnp.ones((2, 1)), jnp.array([1.0, 0.0])).half_log_determinant)


def _positive_definite(n_rows):
    square = np.random.default_rng(0).standard_normal((n_rows, n_rows))
    return square @ square.T + n_rows * np.eye(n_rows)


@pytest.mark.parametrize("n_rows", [1, 2, 17])
def test_upper_cholesky_is_the_transposed_lower_factor_and_ignores_the_lower_triangle(n_rows):
    matrix = _positive_definite(n_rows)
    spoilt = matrix + np.tril(np.full((n_rows, n_rows), np.nan), -1)
    factor = linalg.upper_cholesky(jnp.asarray(spoilt))
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix).T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        2.0 * linalg.sum_log_diagonal(factor), np.linalg.slogdet(matrix)[1], rtol=1e-12
    )


def test_upper_cholesky_of_an_indefinite_matrix_is_not_a_number():
    assert bool(jnp.any(jnp.isnan(linalg.upper_cholesky(jnp.asarray([[1.0, 2.0], [2.0, 1.0]])))))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("shape", [(6,), (1, 6), (4, 6)])
def test_solve_rows_inverts_the_product(transpose, shape):
    factor = np.linalg.cholesky(_positive_definite(6)).T
    rows = np.random.default_rng(1).standard_normal(shape)
    product = rows @ (factor.T if transpose else factor)
    solution = linalg.solve_rows(jnp.asarray(factor), jnp.asarray(product), transpose)
    np.testing.assert_allclose(solution, rows, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 21, 100, 401])
def test_upper_gram_is_the_product_with_the_transpose(n_rows):
    factor = np.tril(np.random.default_rng(2).standard_normal((n_rows, n_rows)))
    gram = np.triu(linalg.upper_gram(jnp.asarray(factor)))
    np.testing.assert_allclose(gram, np.triu(factor @ factor.T), rtol=1e-12, atol=1e-13)


def test_add_to_diagonal_changes_nothing_else():
    matrix = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(linalg.add_to_diagonal(jnp.asarray(matrix), 0.5), matrix + 0.5 * np.eye(3))


@pytest.mark.parametrize("n_dims", [1, 9, 40])
def test_squared_distances_agree_with_the_definition(n_dims):
    points = np.random.default_rng(3).standard_normal((11, n_dims))
    expected = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1)
    distances = linalg.squared_distances(jnp.asarray(points))
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    np.testing.assert_array_equal(np.diag(distances), 0.0)
    np.testing.assert_array_equal(distances, distances.T)


def test_the_extreme_bit_patterns_give_finite_numbers():
    bits = jnp.array([0, 2**64 - 1, 2**62 - 1, 2**62, 2**63, 2**63 - 1], jnp.uint64)
    uniform = np.asarray(random._unit_interval(bits))
    assert uniform.min() == 2.0**-53
    assert uniform.max() == 1.0 - 2.0**-53
    assert math.sqrt(-2.0 * math.log(uniform.min())) < 8.58
    assert np.all(np.isfinite(np.stack(random._circle_point(bits))))


def test_single_precision_is_rejected():
    with jax.enable_x64(False):
        for draw in (random.standard_normal, lambda key, shape: random.chi_square(key, 3, shape)):
            with pytest.raises(RuntimeError, match="enable_x64"):
                draw(jax.random.key(0), (2,))


ROWS = jnp.asarray(np.random.default_rng(2).normal(size=(23, 2)))


def sums(rows, counts):
    return jnp.sum(counts.astype(jnp.int32)), jnp.where(counts[:, None], rows, 0.0).sum(axis=0)


@pytest.mark.parametrize(
    ("block_rows", "n_valid"),
    [(1, None), (1, 22), (5, None), (5, 0), (5, 5), (5, 22), (22, 23), (23, 1), (100, None), (100, 5)],
)
def test_every_row_that_counts_enters_once(block_rows, n_valid):
    n = 23 if n_valid is None else n_valid
    last = None if n_valid is None else jnp.asarray(n_valid)
    number, total = jax.jit(lambda last: sum_over_rows(sums, ROWS, last, block_rows))(last)
    assert int(number) == n
    np.testing.assert_allclose(total, np.asarray(ROWS)[:n].sum(axis=0), rtol=1e-12, atol=1e-14)


def value(point, rows):
    return -0.5 * jnp.square(rows[:, 0] - point[0]) + jnp.sin(point[1]) * rows[:, 1]


def weighted_gradient(point, rows, weights):
    slopes = jnp.stack([rows[:, 0] - point[0], jnp.cos(point[1]) * rows[:, 1]])
    return slopes @ weights


def test_totals_have_the_derivatives_of_the_sum():
    total = row_total(value, weighted_gradient, 4)
    point = jnp.array([0.3, -0.7])

    whole = lambda point: jnp.sum(value(point, ROWS[:17]))
    of_blocks = lambda point: total(point, ROWS, jnp.asarray(17))
    everything = lambda f: jax.jit(lambda p: (f(p), jax.grad(f)(p), jax.jacfwd(jax.grad(f))(p)))(point)
    for found, expected in zip(everything(of_blocks), everything(whole), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_sums_of_single_precision_rows_keep_the_digits_of_double_precision():
    rows = jnp.full((200_000, 1), 0.1, jnp.float32)
    total = row_total(lambda p, r: r[:, 0] + p[0], lambda p, r, w: jnp.sum(w)[None], 1024)
    point = jnp.zeros(1, jnp.float64)
    found, slope = jax.jit(jax.value_and_grad(lambda p: total(p, rows, None)))(point)
    # A float32 sum would be off by more than 1.
    assert float(found) == pytest.approx(200_000 * float(np.float32(0.1)), rel=1e-13)
    assert slope.dtype == jnp.float64
    assert float(slope[0]) == 200_000.0


@pytest.mark.parametrize("n_intervals", [1, 2, 5, 1000, 10_000])
def test_sigmoidal_ladder_is_the_rescaled_logistic_curve(n_intervals):
    k = np.arange(n_intervals + 1)
    t = 1.0 / (1.0 + np.exp(-4.0 * (2.0 * k - n_intervals) / n_intervals))
    expected = (t - t[0]) / (t[-1] - t[0])
    found = sigmoidal_schedule(n_intervals)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert found[0] == 0.0
    assert found[-1] == 1.0
    assert np.all(np.diff(found) > 0.0)
    np.testing.assert_allclose(found + found[::-1], 1.0, atol=1e-15)


def test_a_gentle_slope_is_nearly_linear():
    np.testing.assert_allclose(sigmoidal_schedule(10, 1e-3), linear_schedule(10), atol=1e-6)


SIZES = (1e-320, 1e-310, 1e-300, 1e-100, 1e-45, 1e-38, 1e-20, 1e-9, 9.9e-5, 1.01e-4, 9e-3, 1.1e-2, 0.5, 30.0, 88.0,
         100.0, 709.0, 1e3, 1e6)  # fmt: skip


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_weights_their_derivatives_and_draws_are_finite_for_every_difference(dtype):
    delta = jnp.asarray([*np.negative(SIZES[::-1]), 0.0, *SIZES], dtype)
    for function in (log_target_weight, log_base_weight):
        values = jax.jit(jax.vmap(function))(delta)
        assert values.dtype == dtype
        assert np.all(np.isfinite(values))
    slopes = jax.vmap(jax.grad(log_target_weight))(delta)
    assert np.all((slopes <= 0.0) & (slopes >= -1.0))
    for uniform in (0.0, 1e-30, 0.5, 1.0 - float(jnp.finfo(dtype).eps)):
        b = np.asarray(jax.jit(draw_inverse_temperature)(jnp.full_like(delta, uniform), delta))
        assert b.dtype == dtype
        assert np.all((b >= 0.0) & (b <= 1.0))


def test_weights_satisfy_their_identities():
    delta = jnp.asarray([-30.0, -2.0, -1e-3, -1e-9, 0.0, 1e-9, 1e-5, 0.3, 5.0, 30.0])
    w1, w0 = np.exp(log_target_weight(delta)), np.exp(log_base_weight(delta))
    np.testing.assert_allclose(w0, np.exp(log_target_weight(-delta)), rtol=1e-12)
    np.testing.assert_allclose(w0 - w1, delta, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(w0 / w1, np.exp(delta), rtol=1e-12)
    assert w0[4] == 1.0
    assert w1[4] == 1.0


def test_weights_agree_with_high_precision_values_on_both_sides_of_the_series_and_in_their_limits():
    for delta in (1e-5, 9.99e-5, 1.001e-4, 1e-3):
        series = -delta / 2 - delta**2 / 24 + delta**4 / 2880
        assert float(log_target_weight(delta)) == pytest.approx(series, abs=2e-16, rel=1e-12)
    assert float(log_target_weight(jnp.asarray(5.0))) == pytest.approx(np.log(5.0 / np.expm1(5.0)), rel=1e-14)
    assert float(log_target_weight(1e6)) == pytest.approx(np.log(1e6) - 1e6, rel=1e-15)
    for largest in (log_target_weight(-1e6), log_base_weight(1e6)):
        assert float(largest) == pytest.approx(np.log(1e6), rel=1e-15)


@pytest.mark.parametrize("delta", [-700.0, -5.0, -1e-9, 1e-300, 1e-9, 0.3, 5.0, 700.0])
def test_draws_invert_the_distribution_function(delta):
    uniform = jnp.linspace(0.0, 1.0, 101)[:-1]
    b = np.asarray(draw_inverse_temperature(uniform, jnp.full_like(uniform, delta)))
    size = abs(delta)
    nearer = b if delta > 0 else 1.0 - b
    found = np.expm1(-size * nearer) / np.expm1(-size) if size > 1e-200 else nearer
    np.testing.assert_allclose(found, uniform, atol=1e-12)
