"""Shared panels draw what they are given, and reject what does not fit."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb

from auxmc.plots.style import CYCLE
from auxmc_pipeline.plots.factor_graphs import factor_graph
from auxmc_pipeline.plots.looks import METHOD_COLOURS, METHOD_LABELS, METHOD_MARKERS
from auxmc_pipeline.plots.panels import (
    band_curve,
    bar_place,
    histogram_panel,
    mean_bars,
    preset_note,
    trace_panel,
)


def test_curve_has_a_band_of_its_half_width_and_a_lone_point_a_marker(axis):
    band_curve(axis, [0.0, 1.0], [1.0, 2.0], [0.5, 0.25], colour="#000000")
    extent = axis.collections[0].get_paths()[0].get_extents()
    assert (extent.y0, extent.y1) == (0.5, 2.25)
    assert band_curve(axis, [1.0], [2.0], [0.1], colour="#000000").get_marker() == "o"
    with pytest.raises(ValueError, match=r"equal length, got shapes \(2,\), \(3,\)"):
        band_curve(axis, [0.0, 1.0], [1.0, 2.0, 3.0], colour="#000000")


def test_trace_counts_iterations_and_a_long_one_is_an_image_in_the_pdf(axis):
    trace_panel(axis, np.zeros(11), first_iteration=9000, thin=10)
    assert axis.get_xlim() == (9000, 9100)
    trace_panel(axis, np.zeros(30000))
    assert [line.get_rasterized() for line in axis.lines] == [False, True]


def test_histogram_is_a_density(axis):
    edges = np.array([0.0, 1.0, 3.0])
    histogram_panel(axis, edges, [2, 2], element="bars")
    assert [(bar.get_x(), bar.get_width()) for bar in axis.patches] == [(0.0, 1.0), (1.0, 2.0)]
    np.testing.assert_allclose([bar.get_height() for bar in axis.patches], [0.5, 0.25])
    histogram_panel(axis, edges, [2, 2], n_total=8, element="bars")
    np.testing.assert_allclose([bar.get_height() for bar in axis.patches[2:]], [0.25, 0.125])
    histogram_panel(axis, edges, [2, 2], n_total=8)
    assert axis.collections[0].get_paths()[0].get_extents().y1 == 0.25
    with pytest.raises(ValueError, match=r"edges must be \[4\]"):
        histogram_panel(axis, edges, [1, 2, 3])
    with pytest.raises(ValueError, match="positive sum"):
        histogram_panel(axis, edges, [0, 0])


def replicates(**values):
    """Two groups a, b of each series, with two replicates 0.1 to both sides of their mean."""
    return pd.DataFrame(
        [
            {"group": group, "series": name, "value": mean + apart}
            for name, means in values.items()
            for group, mean in zip("ab", means, strict=True)
            for apart in (-0.1, 0.1)
        ]
    )


def test_bars_of_a_group_stand_side_by_side_in_method_colours_with_one_standard_error(axis):
    rows = replicates(pm_mh=[1.0, 2.0], apm_ss_ss=[3.0, 4.0])
    assert mean_bars(axis, rows, "group", "series", METHOD_COLOURS) == ["pm_mh", "apm_ss_ss"]
    assert axis.get_legend_handles_labels()[1] == ["pm_mh", "apm_ss_ss"]
    bars = sorted(axis.containers[0].patches + axis.containers[1].patches, key=lambda bar: bar.get_x())
    np.testing.assert_allclose([bar.get_height() for bar in bars], [1.0, 3.0, 2.0, 4.0])
    assert all(left.get_x() + left.get_width() <= right.get_x() for left, right in itertools.pairwise(bars))
    assert to_hex(bars[1].get_facecolor()) == METHOD_COLOURS["apm_ss_ss"].lower()
    middles = [bar.get_x() + 0.5 * bar.get_width() for bar in bars]
    np.testing.assert_allclose(middles, [bar_place(g, s, 2) for g in range(2) for s in range(2)])
    error = next(line for line in axis.lines if np.allclose(line.get_xdata(), middles[0]))
    np.testing.assert_allclose(error.get_ydata(), [0.9, 1.1])


def test_a_bar_of_which_a_replicate_is_unknown_is_not_drawn_from_the_others(axis):
    rows = replicates(pm_mh=[1.0, 2.0])
    rows.loc[0, "value"] = np.nan
    mean_bars(axis, rows, "group", "series", METHOD_COLOURS)
    assert [bar.get_height() for bar in axis.containers[0] if np.isfinite(bar.get_height())] == [2.0]


def test_bars_on_a_logarithmic_axis_are_means_of_values_and_not_of_logarithms(axis):
    rows = pd.DataFrame({"group": ["a", "a"], "series": ["pm_mh", "pm_mh"], "value": [1.0, 100.0]})
    mean_bars(axis, rows, "group", "series", METHOD_COLOURS)
    axis.set_yscale("log")
    assert axis.containers[0][0].get_height() == 50.5
    with pytest.raises(ValueError, match="set the scale log after they are drawn"):
        mean_bars(axis, rows, "group", "series", METHOD_COLOURS)


def test_note_stands_below_the_panels(axis):
    axis.set_xlabel("step size")
    preset_note(axis.figure, "preset smoke, data set calibrated")
    axis.figure.draw_without_rendering()
    note = axis.figure.texts[0].get_window_extent()
    assert 0.0 <= note.y0 < note.y1 <= axis.get_tightbbox().y0


_GRAPH = """
height_in = 2.0
x_range = [-1.0, 5.0]
y_range = [-1.0, 2.0]
factors = [{at = [1.0, 0.5], text = "above", above = true}, {at = [2.0, 0.5], text = "below"}]
variables = [{at = [0.0, 0.0], name = "$z$"}, {at = [4.0, 0.0], name = "$y$", observed = true}]
words = [{at = [0.0, 1.0], text = "latent values"}]
"""


def test_a_graph_is_drawn_as_its_file_says(tmp_path):
    path = tmp_path / "graph.toml"
    path.write_text(_GRAPH)
    figure = factor_graph(path)
    (axis,) = figure.axes
    above, below, latent, observed = axis.patches
    assert (figure.get_figheight(), axis.get_aspect()) == (2.0, 1.0)
    assert to_rgb(latent.get_facecolor()) == (1.0, 1.0, 1.0)
    assert max(to_rgb(observed.get_facecolor())) < 0.9
    places = {text.get_text(): text.get_position() for text in axis.texts}
    assert places["above"][1] > above.get_bbox().y1
    assert places["below"][1] < below.get_bbox().y0
    assert (above.get_bbox().x0 + above.get_bbox().x1) / 2 == pytest.approx(1.0)
    assert [places[name] for name in ("$z$", "$y$", "latent values")] == [(0.0, 0.0), (4.0, 0.0), (0.0, 1.0)]


def test_every_method_has_its_own_colour_label_and_marker_among_those_it_is_drawn_with():
    pseudo_marginal = ["pm_mh", "cpm_mh", "pm_hmc", "apm_mi_mh", "apm_mi_ss", "apm_ss_mh", "apm_ss_ss"]
    families = ([*pseudo_marginal, "apm_cn_mh", "apm_rw_mh"], ["gibbs_ct", "ct_hmc", "st", "ais", "nuts"])
    for table in (METHOD_COLOURS, METHOD_LABELS, METHOD_MARKERS):
        assert set(table) == {*families[0], *families[1]}
        for family in families:
            assert len({table[key] for key in family}) == len(family)
    assert METHOD_COLOURS["apm_ss_ss"] == "#CC79A7"
    assert len(set(CYCLE)) == len(CYCLE)
