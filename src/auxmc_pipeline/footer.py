"""The footer of every figure of a study: from which run it was drawn."""

from matplotlib.figure import Figure

from auxmc.plots.panels import preset_note
from auxmc_pipeline.named_tables import NamedTables
from auxmc_pipeline.tables import MissingData, Tables, Wanted


def footer(figure: Figure, tables: Tables | NamedTables, *details: str) -> None:
    """Writes the preset of the tables, then details such as the number of chains, under a figure.

    Args:
        figure: what was drawn.
        tables: from which; the preset is unknown where they are empty.
        details: empty ones are left out.
    """
    frames = (
        (tables["settings"],)
        if isinstance(tables, NamedTables)
        else (tables.summary.frame, tables.curves.frame)
    )
    presets: list[str] = next((list(f["preset"].dropna().unique()) for f in frames if "preset" in f), [])
    shown = ", ".join(presets) or "unknown"
    preset_note(figure, "; ".join([f"preset {shown}", *filter(None, details)]))


def chain_lengths(tables: Tables | NamedTables, **wanted: Wanted) -> str:
    """`4 chains of 100 iterations`, as the settings of the wanted rows have it; empty where there are no such rows."""
    try:
        of_cases = tables if isinstance(tables, NamedTables) else tables.summary
        n_chains, n_draws = (of_cases.setting(name, **wanted) for name in ("n_chains", "n_draws"))
    except MissingData:
        return ""
    return f"{n_chains} chains of {n_draws} iterations"
