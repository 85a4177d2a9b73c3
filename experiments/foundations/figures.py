"""Figures of the foundations, drawn from their tables by the modules of each group."""

from collections.abc import Callable

import pandas as pd
from matplotlib.figure import Figure

from experiments.foundations.figures_chains import DRAW as CHAINS
from experiments.foundations.figures_evidence import DRAW as EVIDENCE
from experiments.foundations.figures_models import DRAW as MODELS
from experiments.foundations.figures_numbers import DRAW as NUMBERS

DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = NUMBERS | CHAINS | EVIDENCE | MODELS
"""For each figure, a function of the summary and the curves."""
