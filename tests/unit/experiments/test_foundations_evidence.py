"""Topics on evidence of the foundations: what is exact in full, tiny simulations, curves and figures."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import load_study
from tests.unit.experiments.foundations_topics import EMPTY, Computed, says_not_run, seeds_differ

EVIDENCE = Computed("evidence", 3, 1e-4)
DRAW = load_study("foundations").drawings()


@pytest.mark.parametrize(
    ("claim", "setting", "value", "tolerance"),
    [
        ("FN-TP-01", "inverse temperature 0.4", 0.610323, 1e-6),
        ("FN-TP-02", "probability of index 4", 0.171139, 1e-6),
        # The base is a Gaussian, whose distribution function is known.
        ("FN-TP-02", "mass of the left mode at index 0", 0.455213484871745, 1e-7),
        ("FN-TP-04", "index 2 without the ratio", 0.16361, 1e-5),
        ("FN-TP-05", "5 intervals", 30.0, 1e-9),
        ("FN-TP-06", "mean", 1.0 / 3.0 - 1.0 / np.expm1(3.0), 1e-12),
        ("FN-TP-07", "variance of the log weight, 50 steps", 0.189080, 1e-5),
        ("FN-TP-08", "effective share of the weights of the base", 0.204116, 1e-5),
        ("FN-EV-02", "decimal log exceeded by 2.5 %", -57.70, 0.02),
        ("FN-EV-10", "upper bound less log evidence, 100 steps", 0.918955, 1e-5),
        ("FN-EV-11", "number of temperatures, share 0.9", 14.0, 0.0),
        ("FN-EV-13", "log Bayes factor", 0.33745991, 1e-8),
        ("FN-EV-15", "sum over all paths, relative error", 0.0, 1e-12),
        ("FN-EV-15", "sum over all reversed paths, relative error", 0.0, 1e-12),
        ("FN-NS-02", "100 live points", 4.917615e-5, 1e-11),
        ("FN-NS-03", "M/(M+1), 10 live points", 1.458963, 1e-5),
        ("FN-NS-03", "as printed", 1.313067, 1e-5),
        ("FN-NS-06", "in exact fractions, sum to the last but one", 0.0, 0.0),
    ],
)
def test_exact_values(claim: str, setting: str, value: float, tolerance: float) -> None:
    found = EVIDENCE.measured(claim)[setting]
    assert found.value == pytest.approx(value, abs=tolerance)
    assert found.error == 0.0


def test_the_kernels_index_move_keeps_its_distribution() -> None:
    assert EVIDENCE.value("FN-TP-04", "largest error with the ratio") < 1e-12


def test_all_settings_are_finite_and_unlike_each_other() -> None:
    for claim in EVIDENCE.claims:
        if not claim.startswith("FN-SM"):
            found = EVIDENCE.measured(claim)
            assert found
            assert all(np.isfinite(m.value) and m.error >= 0.0 for m in found.values()), claim


def test_no_random_number_enters_what_is_called_exact() -> None:
    other = Computed("evidence", 4, 1e-4)
    claims = [claim for claim in EVIDENCE.claims if not claim.startswith("FN-SM")]
    assert seeds_differ(EVIDENCE, other, claims) == []


def test_curves_bear_the_name_of_their_figure() -> None:
    for figure, arrays in EVIDENCE.curves.items():
        for name, array in arrays.items():
            assert all(part.startswith(figure) for part in (name, *map(str, array.dims)))
            assert [other for other in EVIDENCE.figures if name.startswith(other)] == [figure]


@pytest.mark.parametrize("name", sorted(EVIDENCE.figures))
def test_figures_draw_data_and_say_what_is_missing(name: str) -> None:
    with use_style():
        drawn, empty = DRAW[name](EVIDENCE.tables), DRAW[name](EMPTY)
    assert isinstance(drawn, Figure)
    assert all(axis.has_data() for axis in drawn.axes)
    assert says_not_run(empty)
    assert all(says_not_run(empty))


def test_particles_of_the_figure_descend_from_their_ancestors() -> None:
    ancestors = EVIDENCE.curves["slides_particle_filter"]["slides_particle_filter_ancestor"]
    n = ancestors.sizes["slides_particle_filter_particle"]
    assert np.all(ancestors.sel(slides_particle_filter_tree="none") == np.arange(n))
    resampled = ancestors.sel(slides_particle_filter_tree="each step").values
    assert all(len(set(step)) < n for step in resampled)
