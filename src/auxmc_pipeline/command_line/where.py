"""Which functions make a figure."""

from auxmc.errors import CommandError
from auxmc_pipeline import catalogue
from auxmc_pipeline.report.code_places import algorithms, drawn_by
from auxmc_pipeline.settings import nearest


def describe_figure(figure: str, study_name: str | None = None) -> str:
    """From a figure back to the model: the function that draws it, what runs.

    Raises CommandError if no study has such a figure, or several have and none is named.
    """
    names = catalogue.studies() if study_name is None else [study_name]
    declared = [catalogue.load_study(name) for name in names]
    found = [study for study in declared if figure in study.figures]
    if not found:
        known = [name for study in declared for name in study.figures]
        raise CommandError(
            f"no figure {figure!r}{f' of study {study_name}' if study_name else ''}.{nearest(figure, known)} "
            + (f"Allowed: {', '.join(known)}" if study_name else "docs/coverage.md lists all of them")
        )
    if len(found) > 1:
        raise CommandError(
            f"figure {figure} is of the studies {', '.join(study.name for study in found)}: name one, "
            f"`auxmc where {figure} {found[0].name}`"
        )
    (study,) = found
    lines = "\n".join(f"  {place}" for place in algorithms(study))
    return (
        f"{figure}, study {study.name}: {study.figures[figure]}\n\n"
        f"drawn by\n  {drawn_by(study, figure)}\n\nrun by experiments/{study.name}/run.py, with\n{lines}\n\n"
        f"Draw it:\n  snakemake paper_figures/quick/{study.name}/{figure}.svg"
    )
