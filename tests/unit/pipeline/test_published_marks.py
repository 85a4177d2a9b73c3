"""Published values are drawn where they are, in one look, and named once in a legend."""

import math

import numpy as np
import pytest

from auxmc_pipeline.plots.published import (
    PublishedValue,
    entries_published_last,
    published_curve,
    published_entry,
    published_level,
    published_mark,
    published_moments,
)


def _value(value, low=math.nan, high=math.nan):
    return PublishedValue(value, low, high, "PhD thesis", "fig. 3.3", ("PM-G05", "N = 1"))


def test_a_mark_is_hollow_and_stands_at_its_value_in_the_unit_of_the_axis(axis):
    line = published_mark(axis, 0.55, _value(1.5e-3), unit=1e-4, colour="#009E73")
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([0.55], [pytest.approx(15.0)])
    assert (line.get_markerfacecolor(), line.get_markeredgecolor()) == ("white", "#009E73")
    assert line.get_linestyle() == "None"
    assert (line.across, line.up.value if line.up else None) == (None, 1.5e-3)


def test_the_axis_makes_room_for_a_mark_unless_its_limits_are_set(axis):
    axis.plot([0.0, 1.0], [0.0, 1.0])
    published_mark(axis, 0.5, _value(3.0))
    assert axis.get_ylim()[1] > 3.0
    axis.set_ylim(0.0, 1.0)
    published_mark(axis, 0.5, _value(5.0))
    assert axis.get_ylim() == (0.0, 1.0)


def test_a_drawn_band_is_a_bar_from_end_to_end(axis):
    published_mark(axis, 2.0, _value(3.0, 2.5, 4.0), unit=0.5)
    bar = next(line for line in axis.lines if len(line.get_xdata()) == 2)
    assert (list(bar.get_xdata()), list(bar.get_ydata())) == ([2.0, 2.0], [5.0, 8.0])


@pytest.mark.parametrize("vertical", [False, True])
def test_a_level_crosses_the_panel_and_leaves_the_other_axis_alone(axis, vertical):
    axis.plot([0.0, 1.0], [0.0, 1.0])
    limits = axis.get_xlim(), axis.get_ylim()
    line = published_level(axis, _value(0.234), vertical=vertical)
    assert (axis.get_xlim(), axis.get_ylim()) == limits
    data = (list(line.get_xdata()), list(line.get_ydata()))
    assert data[:: -1 if vertical else 1] == ([0.0, 1.0], [0.234, 0.234])
    assert (line.across is None) != vertical


def test_the_bar_of_a_mean_ends_on_the_normal_density(axis):
    line = published_moments(axis, _value(2.0), _value(0.5))
    bar = next(line for line in axis.lines if len(line.get_xdata()) == 2)
    density = np.exp(-0.5) / (0.5 * np.sqrt(2.0 * np.pi))
    assert list(bar.get_xdata()) == [1.5, 2.5]
    assert [*bar.get_ydata(), *line.get_ydata()] == pytest.approx([density] * 3)


def test_a_legend_names_published_values_once_and_last(axis):
    published_mark(axis, 0.0, _value(1.0))
    published_mark(axis, 1.0, _value(2.0))
    axis.plot([0.0, 1.0], [0.0, 1.0], label="ours")
    handles, labels = entries_published_last(axis)
    assert labels == ["ours", "published (PhD thesis)"]
    assert handles[1].get_marker() == "X"
    mark = published_mark(axis, 2.0, _value(3.0))
    assert published_entry("PhD thesis").get_marker() == mark.get_marker()
    assert published_entry("PhD thesis", "its machine", level=True).get_label().endswith(", its machine)")


def test_a_curve_keeps_the_limits_and_comes_last_in_the_legend(axis):
    axis.plot([0.0, 1.0], [0.0, 1.0], label="ours")
    limits = axis.get_xlim(), axis.get_ylim()
    line = published_curve(axis, [-1.0, 5.0], [2.0, 3.0], ([1.0, 2.0], [3.0, 4.0]), document="PhD thesis")
    assert (axis.get_xlim(), axis.get_ylim()) == limits
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([-1.0, 5.0], [2.0, 3.0])
    assert entries_published_last(axis)[1] == ["ours", "published (PhD thesis)"]


def test_bars_of_a_published_histogram_begin_and_end_at_its_edges(axis):
    line = published_curve(axis, [0.5, 1.5], [2.0, 3.0], document="PhD thesis", steps=True)
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([0.0, 1.0, 2.0], [2.0, 3.0, 3.0])
