"""A study's tables, read and checked against the present settings."""

from collections.abc import Sequence
from pathlib import Path

from auxmc.driver.results import read_table
from auxmc_pipeline.catalogue import Study, stale_cases
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.tables import Tables


def read_tables(study: Study, preset: str, paths: Sequence[Path]) -> Tables:
    """Summary and curves of a study.

    Args:
        study: the study.
        preset: preset that the tables belong to.
        paths: files of the summary and of the curves.

    Raises:
        SettingsError: the tables were made with other settings than the present ones, which Snakemake cannot
            see where the result files themselves are gone.
    """
    summary, curves = (read_table(path) for path in paths)
    numbers = dict(zip(summary["case"], summary["numbers"], strict=True))
    stale = stale_cases(study, preset, numbers)
    if stale:
        raise SettingsError(
            f"{paths[0]} was made with other settings for {', '.join(stale)}; bring it up to date with "
            f"`snakemake {paths[0]} --forcerun run_case`"
        )
    return Tables.of(summary, curves)
