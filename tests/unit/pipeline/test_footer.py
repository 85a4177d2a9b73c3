"""The footer of a figure says from which run it was drawn."""

import pandas as pd
from matplotlib.figure import Figure

from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.tables import Tables

ROWS = pd.DataFrame({"case": ["nuts", "ais"], "preset": "quick", "n_chains": [4, 8], "n_draws": [100, 10]})
TABLES = Tables.of(ROWS, pd.DataFrame())
EMPTY = Tables.of(pd.DataFrame(), pd.DataFrame())


def test_the_preset_and_the_details_are_written_and_empty_details_left_out() -> None:
    written = []
    for tables in (TABLES, EMPTY):
        figure = Figure()
        footer(figure, tables, chain_lengths(tables, case="nuts"), "")
        written.append(figure.texts[-1].get_text())
    assert written == ["preset quick; 4 chains of 100 iterations", "preset unknown"]


def test_lengths_are_those_of_the_rows_that_are_wanted() -> None:
    assert chain_lengths(TABLES, case="ais") == "8 chains of 10 iterations"
    assert chain_lengths(TABLES, case="hmc") == ""
