"""The small tape against JAX, its counted cost, and what a wrong partial derivative does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.foundations.models import tape

POINT = np.array([0.7, 1.3, -0.4])


def mixed(x, y, z):
    """Every operation, variables used twice, constants on the right."""
    shared = (x * y + 2.0).log()
    return [shared / y - z.sin(), (z - x * 0.5).half_square() + shared.exp(), shared * shared]


def mixed_in_jax(u):
    x, y, z = u
    shared = jnp.log(x * y + 2.0)
    return jnp.stack([shared / y - jnp.sin(z), 0.5 * (z - 0.5 * x) ** 2 + jnp.exp(shared), shared**2])


GRAPH = tape.record(mixed, 3)


def gradient_cost(graph, inputs):
    """Operations of a value, and of a value and its gradient."""
    arithmetic = tape.Arithmetic()
    values = tape.evaluate(graph, inputs, arithmetic)
    forward = arithmetic.n_operations
    tape.reverse_sweep(graph, values, [1.0] * len(graph.outputs), arithmetic)
    return forward, arithmetic.n_operations


def test_values_are_those_of_jax():
    values = tape.evaluate(GRAPH, POINT, tape.Arithmetic())
    np.testing.assert_allclose([values[i] for i in GRAPH.outputs], mixed_in_jax(POINT), rtol=1e-14)


@pytest.mark.parametrize("by", [tape.jacobian_by_rows, tape.jacobian_by_columns])
def test_jacobians_are_those_of_jax(by):
    expected = jax.jacobian(mixed_in_jax)(jnp.asarray(POINT))
    np.testing.assert_allclose(by(GRAPH, POINT, tape.Arithmetic()), expected, rtol=1e-13, atol=1e-14)


def test_a_reverse_sweep_with_several_seeds_is_a_vector_jacobian_product():
    seeds = [0.3, -1.0, 2.0]
    values = tape.evaluate(GRAPH, POINT, tape.Arithmetic())
    bars = tape.reverse_sweep(GRAPH, values, seeds, tape.Arithmetic())
    expected = np.array(seeds) @ tape.jacobian_by_columns(GRAPH, POINT, tape.Arithmetic())
    np.testing.assert_allclose(bars[:3], expected, rtol=1e-13)


def test_a_forward_sweep_is_a_jacobian_vector_product():
    values = tape.evaluate(GRAPH, POINT, tape.Arithmetic())
    slopes = tape.forward_sweep(GRAPH, values, [1.0, -2.0, 0.5], tape.Arithmetic())
    expected = tape.jacobian_by_rows(GRAPH, POINT, tape.Arithmetic()) @ np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose([slopes[i] for i in GRAPH.outputs], expected, rtol=1e-13)


@pytest.mark.parametrize("name", sorted(tape.OPERATIONS))
def test_an_operation_alone_costs_at_most_six_times_its_value(name):
    operation = tape.OPERATIONS[name]
    n_arguments = operation.pull.__code__.co_argcount - 3
    arguments = [0.7, 1.3][:n_arguments]
    forward, reverse = tape.Arithmetic(), tape.Arithmetic()
    result = operation.value(forward, *arguments)
    operation.pull(reverse, 1.0, *arguments, result)
    # One addition into the accumulator of each argument.
    assert forward.n_operations + reverse.n_operations + n_arguments <= 6 * forward.n_operations


def test_counts_are_those_of_a_chain_written_by_hand():
    # y = exp(x) x: two operations; backwards a product for each of the factors, one for exp, one sum.
    graph = tape.record(lambda x: x.exp() * x, 1)
    assert gradient_cost(graph, np.array([0.2])) == (2, 6)


def test_terms_of_several_uses_are_summed():
    graph = tape.record(lambda x: x * x + x, 1)
    values = tape.evaluate(graph, [3.0], tape.Arithmetic())
    assert tape.reverse_sweep(graph, values, [1.0], tape.Arithmetic())[0] == 7.0


def test_an_input_that_is_not_used_has_derivative_zero():
    graph = tape.record(lambda x, y: x * 2.0, 2)
    values = tape.evaluate(graph, [3.0, 4.0], tape.Arithmetic())
    assert tape.reverse_sweep(graph, values, [1.0], tape.Arithmetic())[:2] == [2.0, 0.0]


def test_a_wrong_partial_derivative_is_seen():
    wrong = tape.OPERATIONS["divide"]._replace(pull=lambda m, bar, a, b, y: (bar, -m.multiply(bar, y)))
    values = tape.evaluate(GRAPH, POINT, tape.Arithmetic())
    right = tape.reverse_sweep(GRAPH, values, [1.0, 0.0, 0.0], tape.Arithmetic())
    bars = tape.reverse_sweep(
        GRAPH, values, [1.0, 0.0, 0.0], tape.Arithmetic(), tape.OPERATIONS | {"divide": wrong}
    )
    assert max(abs(a - b) for a, b in zip(bars[:3], right[:3], strict=True)) > 0.01


def test_messages():
    with pytest.raises(ValueError, match="n_inputs must be at least 1, got 0"):
        tape.record(lambda: [], 0)
    with pytest.raises(ValueError, match="must return variables of the graph, got"):
        tape.record(lambda x: [3.0], 1)
    with pytest.raises(ValueError, match=r"has 3 inputs, got values of shape \[2\]"):
        tape.evaluate(GRAPH, [1.0, 2.0], tape.Arithmetic())
