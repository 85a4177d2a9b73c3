"""The traps that a first user fell into, and the tests that show how each is mended.

TRAPS names them all; those of traps that concern no single module stand here.
"""

import math
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

import auxmc
from auxmc.command_line.stream_models import named_model
from auxmc.kernels.streams.growing_data import GrowingDataSettings, growing_data_evidence
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.mixtures.single_gaussian import single_gaussian
from auxmc.models.row_model import RowModel

ROOT = Path(__file__).parents[3]

TRAPS = {
    "1: chains that start in the middle of the temperatures freeze": (
        "interface/test_evidence.py::test_chains_start_at_the_base",
        "interface/test_evidence.py::test_stuck_chains_are_named_and_few_chains_with_all_the_weight_are_warned_of",
    ),
    "2: a base from a bad pilot": (
        "interface/test_evidence.py::test_base_far_from_the_target_is_warned_of",
        "interface/test_evidence.py::test_base_in_one_mode_is_warned_of",
    ),
    "3: frozen chains, and chains that cannot jump": (
        "interface/test_sampling.py::test_chain_that_never_moves_is_named",
        "interface/test_sampling.py::test_chains_too_short_to_be_looked_at_are_warned_of",
        "interface/test_sampling.py::test_modes_are_not_missed_without_a_word",
        "interface/test_evidence.py::test_draws_that_depend_on_one_another_are_warned_of",
        "interface/test_sampling.py::test_mode_that_no_chain_began_in_is_warned_of",
        "interface/test_simulators.py::test_start_off_the_manifold_is_refused",
        "interface/test_simulators.py::test_prior_that_is_nan_is_refused",
        "interface/test_simulators.py::test_rank_deficient_constraint_is_refused_at_the_start",
    ),
    "4: axes in another order": (
        "diagnostics/test_convergence.py::test_draws_with_their_axes_in_another_order_are_refused",
    ),
    "5: the wrong sign": (
        "interface/test_evidence.py::test_energy_in_place_of_a_log_density_is_refused",
        "interface/test_densities_and_estimates.py::test_bad_densities_are_refused",
    ),
    "6: streams without an error": (
        "command_line/test_stream_command.py::test_by_default_the_evidence_is_right_within_its_error",
        "interface/test_row_streams.py::test_the_evidence_is_right_within_its_error",
        "interface/test_row_streams.py::test_models_are_compared_with_an_error",
    ),
    "7: a false warning about an unnormalised prior": (
        "models/test_user_model.py::test_a_constant_that_is_missing_in_a_prior_is_no_matter",
        "models/test_user_model.py::test_a_prior_that_is_not_that_of_its_draws_is_noticed",
    ),
    "8: particles that adapt on themselves": (
        "interface/test_traps.py::test_particles_of_their_own_tune_the_moves_over_growing_data",
        "interface/test_traps.py::test_growing_data_has_an_error_and_warns",
    ),
    "9: nested sampling's error": (
        "diagnostics/test_nested_errors.py::test_simulated_shrinkage_covers_where_the_information_is_small",
    ),
    "10: Laplace importance sampling of overlapping modes": (
        "interface/test_traps.py::test_importance_draws_around_overlapping_modes_are_warned_of",
    ),
    "11: no way to a start on the manifold": (
        "interface/test_simulators.py::test_starts_on_manifolds_are_found",
        "interface/test_simulators.py::test_data_that_no_inputs_give",
    ),
    "12: warm-up in the draws, hidden positions": (
        "interface/test_sampling.py::test_variables_keep_names_and_shapes_and_warm_up_stands_apart",
        "interface/test_sampling.py::test_starts_for_each_chain",
    ),
    "13: messages": (
        "interface/test_simulators.py::test_bad_simulators_are_refused",
        "interface/test_simulators.py::test_list_as_data_is_an_array",
        "interface/test_simulators.py::test_vector_of_noise_scales_is_refused_with_what_is_wanted",
        "interface/test_row_streams.py::test_a_model_that_is_wrong_is_named",
    ),
    "14: counters, dictionaries, laws of auxiliary variables, scales": (
        "interface/test_densities_and_estimates.py::test_auxiliary_variables_have_names_and_shapes",
        "interface/test_densities_and_estimates.py::test_slice_update_wants_normal_auxiliary_variables",
        "interface/test_densities_and_estimates.py::test_bad_steps_are_refused",
        "interface/test_sampling.py::test_pseudo_marginal_that_sticks_is_warned_of",
    ),
    "15: a mixture of one component is refused": (
        "interface/test_traps.py::test_a_mixture_may_have_one_component",
    ),
}


@pytest.mark.parametrize(("trap", "tests"), TRAPS.items())
def test_every_trap_has_a_test(trap: str, tests: tuple[str, ...]) -> None:
    """A test that is renamed or dropped is missed here."""
    for test in tests:
        path, name = test.split("::")
        assert f"def {name}(" in (ROOT / "tests" / "unit" / path).read_text(), (trap, test)


# Two clouds of rows in one column, few enough for the prior's own draws to give the exact evidence.
_MIXTURE = gaussian_mixture(2, 1)
_ROWS = np.array([-2.0, 1.5, -1.7, 2.2, 0.4, -2.5, 1.9, 2.4, -1.2])[:, None]


@pytest.fixture(scope="module")
def exact_mixture() -> float:
    """Log evidence of the rows, from draws of the prior; the error is below 0.02 nats."""

    def log_likelihood(key: jax.Array) -> jax.Array:
        return jnp.sum(_MIXTURE.log_likelihood(_MIXTURE.draw_prior(key), jnp.asarray(_ROWS)))

    values = jax.jit(jax.vmap(log_likelihood))(jax.random.split(jax.random.key(0), 200_000))
    return float(jax.nn.logsumexp(values) - math.log(values.size))


@pytest.mark.slow
def test_particles_of_their_own_tune_the_moves_over_growing_data(exact_mixture: float) -> None:
    """Trap 8: with moves tuned on the particles that count the mean of Z-hat over Z was 1.5."""
    settings = GrowingDataSettings(n_particles=20, n_moves=2, growth=0.5)
    run = growing_data_evidence(_MIXTURE, settings)
    program = jax.jit(jax.vmap(lambda key: run(key, jnp.asarray(_ROWS)).log_evidence))
    ratios = np.exp(np.asarray(program(jax.random.split(jax.random.key(1), 400))) - exact_mixture)
    assert abs(ratios.mean() - 1.0) < 3.0 * ratios.std() / math.sqrt(ratios.size)


@pytest.mark.slow
def test_growing_data_has_an_error_and_warns(exact_mixture: float) -> None:
    """Trap 8: there was no error, and no warning where runs disagree."""
    settings = GrowingDataSettings(n_moves=2, growth=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", auxmc.SamplingWarning)
        found = auxmc.growing_data(_MIXTURE, _ROWS, settings=settings)
    assert abs(found.log_evidence - exact_mixture) < 2.0 * found.standard_error
    assert found.standard_error < 0.5
    few = settings._replace(n_particles=4, own_pilot=False, growth=1.0)
    with pytest.warns(auxmc.SamplingWarning) as caught:
        auxmc.growing_data(_MIXTURE, 10.0 * _ROWS, settings=few)
    text = " ".join(str(one.message) for one in caught)
    assert "runs differ by" in text
    assert "particles that tune their own moves make the evidence too large" in text


@pytest.mark.slow
def test_importance_draws_around_overlapping_modes_are_warned_of(exact_mixture: float) -> None:
    """Trap 10: up to 1.55 nats off with a small error; where modes do not overlap nothing is said."""
    with pytest.warns(auxmc.SamplingWarning):
        found = auxmc.laplace_evidence(_MIXTURE, _ROWS, copies=2, draws=1000)
    assert found.warnings
    model = single_gaussian(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", auxmc.SamplingWarning)
        good = auxmc.laplace_evidence(model, np.repeat(_ROWS, 5, axis=0), draws=1000)
    assert abs(good.log_evidence - _exact_single(np.repeat(_ROWS, 5, axis=0))) < 3.0 * good.standard_error


def _exact_single(rows: np.ndarray) -> float:
    """Conjugate: N(0, 4 v) for the mean, inverse gamma(1, 1) for the variance of each column."""
    n, precision = len(rows), 0.25
    after = precision + n
    rates = 1.0 + 0.5 * (np.sum(rows**2, axis=0) - np.sum(rows, axis=0) ** 2 / after)
    shape = 1.0 + 0.5 * n
    terms = (
        0.5 * math.log(precision / after)
        - 0.5 * n * math.log(2.0 * math.pi)
        + gammaln(shape)
        - shape * np.log(rates)
    )
    return float(np.sum(terms))


def test_a_mixture_may_have_one_component() -> None:
    """Trap 15: `mixture components=1` was refused; its prior is that of a component of more."""
    model = named_model("mixture components=1", 2).model
    assert isinstance(model, RowModel)
    drawn = jax.vmap(model.draw_prior)(jax.random.split(jax.random.key(0), 3))
    for parameters in drawn:
        means, log_variances = parameters[:2], parameters[2:]
        pair = gaussian_mixture(2, 2, weight_coordinates="log_ratio")
        both = jnp.concatenate([jnp.zeros(1), means, means, log_variances, log_variances])
        # The weights' coordinate has the logistic density, 1/4 at zero.
        expected = 0.5 * (float(pair.log_prior(both)) - math.log(0.25))
        assert float(model.log_prior(parameters)) == pytest.approx(expected, rel=1e-12)
        rows = jnp.array([[0.3, -1.0], [2.0, 0.1]])
        np.testing.assert_allclose(
            model.log_likelihood(parameters, rows), pair.log_likelihood(both, rows), rtol=1e-12
        )
