"""Where the numbers of a figure come from, hand by hand."""

from auxmc.command_line.columns import columns
from auxmc.command_line.errors import CommandError
from auxmc_pipeline import catalogue
from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.report.places.figure_sources import (
    SourcePlace,
    algorithms,
    figure_source,
    recording_function,
)
from auxmc_pipeline.settings import nearest


def describe_figure(figure: str, study_name: str | None = None) -> str:
    """From a figure back to the model: drawing function, columns of the tables, what records them, what runs.

    Args:
        figure: name of the figure, as its files have it.
        study_name: the study; needed where several have a figure of that name.

    Raises:
        CommandError: no study, or several, have such a figure.
        SettingsError: there is no such study.
    """
    study = _study_of(figure, study_name)
    source = figure_source(study, figure)
    quantities = [
        (f"  {place.name}", _at(place), recording_function(place)) for place in source.quantities
    ] or [("  none: it is drawn without a table", "", "")]
    run = f"experiments/{study.name}/run.py"
    parts = [
        f"{figure}, study {study.name}: {study.figures[figure]}",
        f"drawn by\n{columns([(f'  {source.drawn.name}', _at(source.drawn))])}",
        f"reads from results/<preset>/{study.name}/summary.parquet and curves.parquet\n"
        + columns([("  quantity", "recorded in", "by"), *quantities]),
        f"run by {run}, with\n" + columns([(f"  {place.name}", _at(place)) for place in algorithms(study)]),
        f"Draw it:\n  snakemake paper_figures/quick/{study.name}/{figure}.png",
    ]
    return "\n\n".join(parts)


def _study_of(figure: str, study_name: str | None) -> Study:
    names = catalogue.studies() if study_name is None else [study_name]
    declared = [catalogue.load_study(name) for name in names]
    found = [study for study in declared if figure in study.figures]
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandError(
            f"figure {figure} is of the studies {', '.join(study.name for study in found)}: name one, "
            f"`auxmc where {figure} {found[0].name}`"
        )
    known = [name for study in declared for name in study.figures]
    place = f" of study {study_name}" if study_name else ""
    raise CommandError(
        f"no figure {figure!r}{place}.{nearest(figure, known)} "
        + (f"Allowed: {', '.join(known)}" if study_name else "docs/coverage.md lists all of them")
    )


def _at(place: SourcePlace) -> str:
    return f"{place.file}:{place.line}"
