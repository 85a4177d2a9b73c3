"""The footer of every figure of a study: from which run it was drawn."""

from matplotlib.figure import Figure

from auxmc_pipeline.plots.panels import preset_note
from auxmc_pipeline.tables import MissingData, Tables, Wanted


def footer(figure: Figure, tables: Tables, *details: str) -> Figure:
    """Writes the preset of the tables, then details that are not empty, under a figure; returns it."""
    shown = ", ".join(tables["settings"]["preset"].dropna().unique()) if "settings" in tables else "unknown"
    preset_note(figure, "; ".join([f"preset {shown}", *filter(None, details)]))
    return figure


def chain_lengths(tables: Tables, **wanted: Wanted) -> str:
    """`4 chains of 100 iterations`, as the settings of the wanted rows have it; empty where there are no such rows."""
    try:
        n_chains, n_draws = (tables.setting(name, **wanted) for name in ("n_chains", "n_draws"))
    except MissingData:
        return ""
    return f"{n_chains} chains of {n_draws} iterations"
