"""The group `models` of the foundations: what its claims return, its curves and figures, at a small effort."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import load_study
from experiments.boltzmann.model.machine import relax
from experiments.foundations.models.differentiation import random_graph
from experiments.foundations.models.small_machines import five_units
from experiments.foundations.models.spins import relaxation_by_quadrature
from experiments.foundations.numbers.counted_operations import Arithmetic
from experiments.foundations.numbers.reverse_mode import evaluate, jacobian_by_rows
from tests.unit.experiments.foundations_topics import EMPTY, Computed, listed, says_not_run, seeds_differ

MODELS = Computed("models", 5, 0.02)
DRAW = load_study("foundations").drawings()
# Claims whose numbers come from simulation in part.
RANDOM = {"FN-VI-06", "FN-AD-02", "FN-AD-03", "FN-GM-01"}


def test_every_line_of_the_claims_is_measured_and_no_other() -> None:
    for claim in MODELS.claims:
        assert set(MODELS.measured(claim)) == set(listed()[claim])


def test_values_are_finite_and_only_simulations_have_errors() -> None:
    for claim in MODELS.claims:
        for setting, found in MODELS.measured(claim).items():
            assert np.isfinite(found.value), f"{claim} {setting}"
            assert found.error >= 0.0
            assert claim in RANDOM or found.error == 0.0


@pytest.mark.parametrize(
    ("claim", "setting", "expected", "tolerance"),
    [
        ("FN-EB-02", "5 sweeps", 4.520323e-5, 1e-10),
        ("FN-EB-03", "local maxima", 2.0, 0.0),
        ("FN-EB-04", "log normaliser by quadrature", 10.474986686, 1e-9),
        ("FN-VI-02", "Renyi 1/2, mean", 0.657313, 1e-5),
        ("FN-VI-05", "correlation 0.99, variance", 0.0199, 1e-9),
        ("FN-VI-06", "mean, variance by the score", 7.323282, 1e-6),
        ("FN-AD-01", "derivative in s", -0.43731778425656, 1e-13),
        ("FN-GM-02", "diagonal point", -1.278465, 1e-6),
        ("FN-GM-05", "density with noise 0.5", 0.176030, 1e-6),
    ],
)
def test_known_numbers(claim: str, setting: str, expected: float, tolerance: float) -> None:
    assert MODELS.value(claim, setting) == pytest.approx(expected, abs=tolerance)


def test_no_random_number_enters_what_is_called_exact() -> None:
    other = Computed("models", 6, 0.02)
    claims = MODELS.claims
    assert seeds_differ(MODELS, other, claims) == []


def test_errors_of_the_sources_show() -> None:
    assert MODELS.value("FN-AD-04", "derivative in x as drawn") == pytest.approx(
        1.0 / 0.7 * 0.8 / 0.7, abs=1e-8
    )
    assert MODELS.value("FN-AD-04", "accumulator of x by the drawn rule") == pytest.approx(0.8 / 0.7)
    assert MODELS.value("FN-VI-03", "as printed") == pytest.approx(np.log(2.0), abs=1e-8)
    assert MODELS.value("FN-VI-02", "Renyi 1/2, excess of the published fit") == pytest.approx(
        0.00778, abs=1e-5
    )


def test_slopes_of_the_simulators_lie_within_five_errors_of_their_orders() -> None:
    # Finite steps bend the slopes by less than 0.03.
    for name, order in (("Milstein", 1.0), ("Euler-Maruyama", 0.5)):
        slope = MODELS.measured("FN-GM-01")[name]
        assert 0.0 < slope.error < 0.05
        assert abs(slope.value - order) < 0.03 + 5.0 * slope.error


def test_the_quadrature_of_the_relaxation_has_settled() -> None:
    machine = five_units()
    shift = np.full(5, -np.linalg.eigvalsh(machine.weights)[0])
    relaxed = relax(machine, shift)
    first, second = (relaxation_by_quadrature(relaxed, n) for n in (20, 24))
    assert first[0] == pytest.approx(second[0], abs=1e-5)
    np.testing.assert_allclose(first[2], second[2], atol=1e-4)


def test_derivatives_of_random_graphs_are_those_of_differences() -> None:
    rng = np.random.default_rng(8)
    graph, point = random_graph(rng, 4, 40, n_outputs=2), rng.uniform(0.3, 1.0, 4)
    found = jacobian_by_rows(graph, point, Arithmetic())
    for i in range(4):
        high, low = (
            np.array(evaluate(graph, point + side * 1e-6 * np.eye(4)[i], Arithmetic()))
            for side in (1.0, -1.0)
        )
        slopes = (high - low)[list(graph.outputs)] / 2e-6
        np.testing.assert_allclose(found[:, i], slopes, rtol=1e-5, atol=1e-7)


def test_names_of_curves_and_their_dimensions_begin_with_the_figure() -> None:
    for figure, arrays in MODELS.curves.items():
        for name, array in arrays.items():
            assert all(part.startswith(f"{figure}_") for part in (name, *map(str, array.dims)))


@pytest.mark.parametrize("name", sorted(MODELS.figures))
def test_figures_draw(name: str) -> None:
    with use_style():
        figure = DRAW[name](MODELS.tables)
        figure.draw_without_rendering()
    assert isinstance(figure, Figure)
    assert not any(says_not_run(figure))


@pytest.mark.parametrize("name", sorted(MODELS.figures))
def test_figures_say_what_is_missing(name: str) -> None:
    with use_style():
        figure = DRAW[name](EMPTY)
    assert any(says_not_run(figure))
