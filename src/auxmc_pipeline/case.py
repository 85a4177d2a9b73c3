"""A case of a study, and where its settings are. No JAX, no pandas, no Hydra: the Snakefile imports this."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from auxmc_pipeline.settings import CaseSettings


class StudyFile(NamedTuple):
    """Where the settings of a study are."""

    studies: Path  # folder of all studies
    name: str  # of the study, a folder with a file `config.yaml`
    schema: type[CaseSettings]  # its settings dataclass
    variant: str = ""  # name of the variant whose settings are laid over all cases; empty for none

    @property
    def place(self) -> str:
        """The file, as errors name it."""
        return f"{self.studies.name}/{self.name}/config.yaml"


class Case(NamedTuple):
    """One composed configuration and one result file."""

    name: str  # file name without suffix, letters, digits, `.`, `-` and `_` only
    overrides: tuple[str, ...]  # Hydra overrides that make the case from the settings of the study
    axes: tuple[str, ...]  # names of the settings that are swept over cases or inside them
    settings: CaseSettings  # the composed settings

    def on(self, hardware: str) -> "Case":
        """The case on another device than that of its settings; the same case for an empty word."""
        if not hardware:
            return self
        settings = dataclasses.replace(self.settings, hardware=hardware)
        return self._replace(overrides=(*self.overrides, f"hardware={hardware}"), settings=settings)
