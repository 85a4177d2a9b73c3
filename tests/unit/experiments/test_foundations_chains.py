"""The group `chains` of the foundations: what its claims return, its curves and figures, at a small effort."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import load_study
from experiments.foundations.chains import slices
from experiments.foundations.chains.inputs import mixture_density
from tests.unit.experiments.foundations_topics import EMPTY, Computed, listed, says_not_run

CHAINS = Computed("chains", 5, 0.02)
DRAW = load_study("foundations").drawings()
value = CHAINS.value


@pytest.mark.slow
def test_every_line_of_the_claims_has_a_measurement_and_none_is_left_over() -> None:
    for claim in CHAINS.claims:
        found = CHAINS.measured(claim)
        assert set(found) == set(listed()[claim])
        assert all(np.isfinite(m.value) and m.error >= 0.0 for m in found.values())


def test_exact_claims_are_those_of_closed_forms() -> None:
    assert value("FN-MK-02", "systematic order 1, 2, 3, detailed balance") == pytest.approx(
        0.0502152, abs=1e-6
    )
    assert value("FN-MK-03", "random scan") == pytest.approx(0.8666051, abs=1e-6)
    assert value("FN-GB-02", "random update, sum of coordinates") == pytest.approx(399.0, rel=1e-9)
    assert value("FN-HM-01", "first trajectory, position") == pytest.approx(5.46937781983363, abs=1e-12)
    assert value("FN-HM-08", "step 1") == pytest.approx(4.0 / 3.0, rel=1e-12)
    assert value("FN-HM-11", "step 0.5") == pytest.approx(2.0 / np.pi * np.arctan(0.5**3 / 8.0), rel=1e-6)
    eta, decay = 0.01, 0.1
    spread = 2.0 * decay * eta * (2.0 - decay) / (decay * eta * (4.0 - 2.0 * decay - eta))
    assert value("FN-SG-02", "position, step 0.01, gradient noise 0") == pytest.approx(spread, rel=1e-10)


def test_what_the_sources_print_wrongly_is_measured_as_wrong() -> None:
    assert value("FN-SL-09", "corrected") == 1.0
    assert value("FN-SL-09", "as printed") == 0.0
    kinetic = CHAINS.measured("FN-HM-06")["D = 100, as printed"]
    assert abs(kinetic.value - np.sqrt(50.0)) < 5.0 * kinetic.error < 0.2 * np.sqrt(50.0)
    noisy = CHAINS.measured("FN-SG-01")
    # The variance of the gradient is 4 and counts twice: -2 eta^2 4 / (2 eta - eta^2) / 2 with eta = 0.1.
    printed = noisy["as printed: estimate the variance, less that without gradient noise"]
    assert printed.value == pytest.approx(-4.0 * 0.1 / (2.0 - 0.1), rel=1e-10)
    assert value("FN-SG-06", "noise divided by eta") < 1e-14 < value("FN-SG-06", "noise as printed")
    assert value("FN-EX-01", "state 0 at the first meeting forward in time") == 1.0


def test_published_moments_of_the_slice_samples_lie_among_ours() -> None:
    fractions = CHAINS.measured("FN-SL-05")
    for name in slices.DIRECTIONS:
        assert (
            0.0
            < fractions[f"{name}, share of chains with a larger variance along the short axis"].value
            < 1.0
        )


def test_the_drawn_ellipse_says_the_variances_of_its_target() -> None:
    assert value("FN-SL-01", "larger eigenvalue") == pytest.approx(1.99, abs=1e-6)
    inside = CHAINS.measured("FN-SL-01")["mass inside the dotted ellipse"]
    assert abs(inside.value - 0.99) < 5.0 * inside.error < 0.01


def test_mutants_of_persistent_momentum_are_seen() -> None:
    found = {setting: m.value for setting, m in CHAINS.measured("FN-HM-09").items()}
    assert found["momentum not reversed"] > 10.0
    assert found["noise with the root of 1 - a"] > 10.0


def test_curves_are_named_after_their_figure_and_finite() -> None:
    for name, arrays in CHAINS.curves.items():
        for variable, array in arrays.items():
            assert variable.startswith(name)
            assert all(str(dim).startswith(name) for dim in array.dims)
            assert np.isfinite(array.values).all()


def test_the_build_up_of_a_slice_update_ends_in_the_other_mode() -> None:
    brackets, marks = (
        CHAINS.curves["slides_slice"]["slides_slice_bracket"],
        CHAINS.curves["slides_slice"]["slides_slice_mark"],
    )
    first, grown, once, twice = brackets.values
    assert grown[0] < -0.2 < first[0]
    lengths = [np.ptp(ends) for ends in (grown, once, twice)]
    assert lengths[0] > lengths[1] > lengths[2]
    start, height, new, _ = marks.values
    assert twice[0] < new < 0.0 < start < twice[1]
    assert mixture_density(slices.OVERLAPPING, new) > height


def test_the_cost_of_a_draw_grows_faster_for_random_walks() -> None:
    cost = CHAINS.curves["fig_hmc_cost"]["fig_hmc_cost_operations"]
    dims = np.log(cost["fig_hmc_cost_dimension"].values)
    walk, hamiltonian = (np.polyfit(dims[2:], np.log(row[2:]), 1)[0] for row in cost.values)
    # Powers 2 and 5/4 of the source, from a few dozen replicates.
    assert walk == pytest.approx(2.0, abs=0.2)
    assert hamiltonian == pytest.approx(1.25, abs=0.15)


@pytest.mark.parametrize("name", list(CHAINS.figures))
def test_every_figure_draws_or_says_that_there_is_nothing(name: str) -> None:
    with use_style():
        for tables in (CHAINS.tables, EMPTY):
            figure = DRAW[name](tables)
            assert isinstance(figure, Figure)
            assert any(says_not_run(figure)) == (tables is EMPTY)
