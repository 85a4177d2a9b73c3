"""Factor graphs: what is observed is grey, and words stand next to what they name."""

import pytest
from matplotlib.colors import to_rgb

from auxmc.plots.factor_graphs import factor_graph

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
    assert {name: places[name] for name in ("$z$", "$y$", "latent values")} == {
        "$z$": (0.0, 0.0),
        "$y$": (4.0, 0.0),
        "latent values": (0.0, 1.0),
    }
