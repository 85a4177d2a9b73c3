"""Figures of the study, drawn from its two tables."""

from collections.abc import Callable

import pandas as pd
from matplotlib.figure import Figure

from experiments.streaming_evidence.figures_evidence import (
    annealed_figure,
    errors_figure,
    floor_figure,
    sequential_figure,
)
from experiments.streaming_evidence.figures_settings import (
    changes_figure,
    histograms_figure,
    sweep_figure,
)

DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_5_1": histograms_figure,
    "fig_5_2": sequential_figure("linear"),
    "fig_5_3": sequential_figure("softmax"),
    "fig_5_4": sequential_figure("mixture"),
    "fig_5_5": annealed_figure("linear"),
    "fig_5_6": annealed_figure("softmax"),
    "fig_5_7": annealed_figure("mixture"),
    "fig_5_8": changes_figure,
    "fig_5_9": sweep_figure("particles", "particles"),
    "fig_5_10": sweep_figure("moves", "moves"),
    "fig_5_11": sweep_figure("batch", "rows in a mini-batch and in a chunk"),
    "fig_5_12": sweep_figure("target", "target size (particles)"),
    "fig_5_13": sweep_figure("rate", "learning rate per row, 20 moves"),
    "fig_5_14": sweep_figure("exchange", "learning rate per row, learning rate times moves = 2"),
    "fig_errors": errors_figure,
    "fig_floor": floor_figure,
}
