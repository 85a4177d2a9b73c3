"""Parts of factor graphs: what is observed is grey, and words stand next to what they name."""

import pytest
from matplotlib.colors import to_rgb

from auxmc.plots.factor_graphs import add_factor, add_variable, add_words, graph_plane


def test_observed_variables_alone_are_grey():
    _, axis = graph_plane(2.0, (-1.0, 5.0), (-1.0, 2.0))
    add_variable(axis, 0.0, 0.0, "$z$")
    add_variable(axis, 4.0, 0.0, "$y$", observed=True)
    latent, observed = (to_rgb(patch.get_facecolor()) for patch in axis.patches)
    assert latent == (1.0, 1.0, 1.0)
    assert max(observed) < 0.9
    assert [text.get_text() for text in axis.texts] == ["$z$", "$y$"]


@pytest.mark.parametrize(("above", "sign"), [(True, 1.0), (False, -1.0)])
def test_the_distribution_of_a_factor_stands_clear_of_its_square(above, sign):
    _, axis = graph_plane(2.0, (-1.0, 5.0), (-1.0, 2.0))
    add_factor(axis, 1.0, 0.5, "distribution", above=above)
    square, text = axis.patches[0].get_bbox(), axis.texts[0]
    assert (square.x0 + square.x1) / 2 == pytest.approx(1.0)
    edge = square.y1 if above else square.y0
    assert sign * (text.get_position()[1] - edge) > 0.0
    assert text.get_verticalalignment() == ("bottom" if above else "top")


def test_words_stand_where_they_are_told_to():
    figure, axis = graph_plane(2.0, (-1.0, 5.0), (-1.0, 2.0))
    add_words(axis, [(0.0, 1.0, "latent values"), (4.0, 1.0, "labels")])
    assert [(text.get_text(), text.get_position()) for text in axis.texts] == [
        ("latent values", (0.0, 1.0)),
        ("labels", (4.0, 1.0)),
    ]
    assert figure.get_figheight() == 2.0
    assert axis.get_aspect() == 1.0
