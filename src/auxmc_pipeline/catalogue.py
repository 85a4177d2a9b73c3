"""Which studies there are, and what each of them declares. No JAX, no pandas: the Snakefile imports this.

Hydra is imported where it composes settings: a plan finds those that an earlier command composed.
"""

import dataclasses
import functools
import hashlib
import importlib
import importlib.metadata
import json
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from auxmc.driver.files import write_atomically
from auxmc.driver.provenance import fingerprint
from auxmc_pipeline.case import Case, StudyFile
from auxmc_pipeline.code import code_digest
from auxmc_pipeline.settings import HARDWARE, PRESETS, CaseSettings, SettingsError, check_known, numbers_of


def checkout(package: Path) -> Path:
    """The checkout that a package belongs to, else the innermost around the working directory; SettingsError for none.

    Its studies become importable. The package is given by the folder that holds `src/`.
    """
    here = Path.cwd()
    places = (package, here, *here.parents)
    root = next((place for place in places if (place / "experiments" / "studies.py").is_file()), None)
    if root is None:
        raise SettingsError(
            f"{here} is not inside a clone of the project, which holds the studies: go to the folder of the Snakefile"
        )
    if str(root) not in sys.path:
        sys.path.append(str(root))  # the studies are the package `experiments`
    return root


ROOT = checkout(Path(__file__).resolve().parents[2])
STUDIES = ROOT / "experiments"
CODE_ROOTS = (ROOT / "src", ROOT)
# They name, carry, keep and time numbers and make none: a run that their change repeated would give the same arrays.
_NOT_IN_DIGEST = (
    "auxmc",
    "auxmc.driver.checkpoint",
    "auxmc.driver.files",
    "auxmc.driver.progress",
    "auxmc.driver.provenance",
    "auxmc.driver.results",
    "auxmc_pipeline.stopwatch",
    "auxmc_pipeline.units",
)

# Once a process: what runs is what was imported.
_code_digest = functools.cache(code_digest)


@dataclasses.dataclass(frozen=True)
class Study:
    """What a study declares in `experiments/<name>/study.py`; `captions.toml` next to it has its figures."""

    name: str  # folder in `experiments/`; with `-VARIANT`, the study with other settings
    title: str  # a few words for headings
    document: str  # whose figures it draws: `fig_4_11` is figure 4.11 of this document
    schema: type[CaseSettings]  # its settings dataclass
    sweep_quantities: Sequence[str]  # quantities that the plot of a user's sweep shows, in order
    batchable: Sequence[str] = ()  # settings whose values in a user's sweep run inside one compiled program
    # Settings whose values may run inside one program in the study's own cases, besides `batchable`.
    batched: Sequence[str] = ()
    claims: Sequence[str] = ("claims",)  # its modules that measure claims, by `MEASURE` and `NUMBERS`
    drawn_by: Sequence[str] = ("figures",)  # its modules that draw figures, by `DRAW`
    # Rules across settings, and the data of the user; raises `ValueError`.
    check: Callable[[Any], None] = lambda settings: None
    # Files whose content a result depends on: by default the data file of the user, where there is one.
    data_files: Callable[[Any], list[str]] = lambda own: [own.data] if getattr(own, "data", "") else []
    # Cases, as patterns of names, that are published without draws, as figures show those of the case that they extend;
    # and those of which the tables `settings`, `chain` and `point` alone are published.
    without_draws: Sequence[str] = ()
    by_chain: Sequence[str] = ()
    # Needs (`auxmc_pipeline.needs`) that a run meets if the published claims are about its model.
    about: str = ""

    @property
    def folder(self) -> str:
        """Its folder in `experiments/`: the name without that of a variant."""
        return self.name.partition("-")[0]

    @functools.cached_property
    def figures(self) -> dict[str, str]:
        """Caption of each figure, by name, from `captions.toml` in its folder."""
        captions = tomllib.loads((STUDIES / self.folder / "captions.toml").read_text(encoding="utf-8"))
        return {name: " ".join(text.split()) for name, text in captions.items()}

    def variants(self) -> list[str]:
        """Names of its variants, a few settings each; load_study("NAME-VARIANT") is the study with them."""
        from auxmc_pipeline.cases import variants_of

        return variants_of(self.file)

    @property
    def file(self) -> StudyFile:
        """Where its settings are."""
        return StudyFile(STUDIES, self.folder, self.schema, self.name.partition("-")[2])

    def module(self, part: str) -> ModuleType:
        """A module of the study, for example `run`."""
        return importlib.import_module(f"experiments.{self.folder}.{part}")

    def measures(self) -> dict[str, Any]:
        """What measures each claim."""
        return self._together(self.claims, "MEASURE")

    def numbers(self) -> dict[str, Any]:
        """What measures the numbers that findings state and that no claim has."""
        return self._together(self.claims, "NUMBERS")

    def drawings(self) -> dict[str, Any]:
        """What draws each figure, in the order of the captions."""
        found = self._together(self.drawn_by, "DRAW")
        if odd := sorted(set(found) ^ set(self.figures)):
            raise ValueError(
                f"study {self.name}: figures without a caption or without a function: {', '.join(odd)}"
            )
        return {name: found[name] for name in self.figures}

    def settings(self, overrides: Sequence[str] = ()) -> CaseSettings:
        """Composed settings, checked with the rules of the study and its data; raises SettingsError."""
        kept = self._composed("".join(overrides[:1]).removeprefix("preset="), only_kept=True)
        of_case = next((case.settings for case in kept if case.overrides == tuple(overrides)), None)
        if of_case is None:
            from auxmc_pipeline.cases import compose_settings

            of_case = compose_settings(self.file, overrides)
        return self.checked(of_case)

    def cases(self, preset: str) -> list[Case]:
        """The study's own cases at a preset, checked."""
        return [case._replace(settings=self.checked(case.settings)) for case in self._composed(preset)]

    def sweep(self, preset: str, over: Sequence[str]) -> list[Case]:
        """Cases of a user's sweep at a preset, checked."""
        from auxmc_pipeline.cases import sweep_cases

        cases = sweep_cases(self.file, preset, over, self.batchable)
        return [case._replace(settings=self.checked(case.settings)) for case in cases]

    def code(self, part: str) -> str:
        """Digest of everything that the study's modules of a part (`run`, `claims`, `figures`) import.

        Modules of the driver that make no numbers do not count for `run`.
        """
        modules = {"run": ("run",), "claims": self.claims, "figures": self.drawn_by}[part]
        without = _NOT_IN_DIGEST if part == "run" else ()
        names = [f"experiments.{self.folder}.{module}" for module in modules]
        digests = [_code_digest(name, CODE_ROOTS, without) for name in names]
        return digests[0] if len(digests) == 1 else fingerprint(digests)

    def data_digest(self, settings: CaseSettings) -> str:
        """Digest of the content of the data files that the settings name; empty when there are none."""
        files = self.data_files(settings)
        return hashlib.sha256(b"".join(Path(f).read_bytes() for f in files)).hexdigest()[:16] if files else ""

    def checked(self, settings: CaseSettings) -> CaseSettings:
        """The settings themselves; raises SettingsError if the study rejects their combination or a data file."""
        together = (*self.batched, *self.batchable)
        for name in settings.batch:
            if name not in together:
                allowed = f"together only {', '.join(together)}" if together else "no settings side by side"
                raise SettingsError(f"batch.{name}: this study runs {allowed}; sweep over {name} instead")
        try:
            self.check(settings)
        except (SettingsError, OSError, ImportError):
            raise
        except ValueError as error:
            raise SettingsError(str(error)) from error
        except Exception as error:
            # Damaged archives and tables fail in ways that no reader foresees; without data it is an error of ours.
            named = getattr(settings, "data", "") or getattr(settings, "weights", "")
            if not named:
                raise
            words = " ".join(str(error).split())
            raise SettingsError(f"{named}: cannot be read ({type(error).__name__}: {words})") from error
        return settings

    def _composed(self, preset: str, only_kept: bool = False) -> list[Case]:
        """Cases as an earlier command composed them, else now: Hydra takes longer than the rest of a plan."""
        config = STUDIES / self.folder / "config.yaml"
        code = [code_digest(name, CODE_ROOTS) for name in (self.schema.__module__, "auxmc_pipeline.cases")]
        versions = [importlib.metadata.version(name) for name in ("hydra-core", "omegaconf")]
        depends = [preset, self.name, config.read_text(encoding="utf-8"), code, versions, str(Path.home())]
        kept = ROOT / ".cache" / "cases" / f"{fingerprint(depends)}.json"
        # A file that is damaged is as good as none.
        with suppress(OSError, ValueError, TypeError):
            return [
                Case(name, tuple(overrides), tuple(axes), self.schema(**settings))
                for name, overrides, axes, settings in json.loads(kept.read_text(encoding="utf-8"))
            ]
        if only_kept:
            return []
        from auxmc_pipeline.cases import study_cases

        cases = study_cases(self.file, preset)
        text = json.dumps([case._replace(settings=dataclasses.asdict(case.settings)) for case in cases])  # type: ignore[arg-type]
        with suppress(OSError):
            write_atomically(kept, lambda path: path.write_text(text, encoding="utf-8"))
        return cases

    def _together(self, modules: Sequence[str], name: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for module in modules:
            for key, function in getattr(self.module(module), name, {}).items():
                if found.setdefault(key, function) is not function:
                    raise ValueError(f"study {self.name}: {key} is in two modules")
        return found


def studies() -> list[str]:
    """Names of all studies, in alphabetical order."""
    return sorted(_registry())


def load_study(name: str) -> Study:
    """The study with the given name; raises SettingsError if there is none."""
    base, _, variant = name.partition("-")
    study = _registry()[check_known(base, studies(), "study")]
    if not variant:
        return study
    check_known(variant, study.variants(), f"variant of {base}")
    return dataclasses.replace(study, name=name)


def check_preset(preset: str) -> str:
    """The preset itself; raises SettingsError if there is none of that name."""
    return check_known(preset, PRESETS, "preset")


def _registry() -> dict[str, Study]:
    # By name: the package does not depend on the studies of a clone.
    return importlib.import_module("experiments.studies").STUDIES  # type: ignore[no-any-return]


def identity_of(study: Study, settings: CaseSettings) -> dict[str, object]:
    """What a result depends on: resolved numbers, code and data, as plain containers."""
    numbers = numbers_of(settings)
    return {
        "numbers": numbers,
        "numbers_digest": fingerprint(numbers),
        "code": study.code("run"),
        "data": study.data_digest(settings),
    }


def stale_cases(study: Study, preset: str, numbers: Mapping[str, str]) -> list[str]:
    """Names of cases whose rows in a table are missing or were made with other settings than the present ones.

    Snakemake does not see them where the result files are gone. The device may be another. `numbers` has the digest of
    the settings by case, as the table has it.
    """
    return [
        case.name
        for case in study.cases(preset)
        if numbers.get(case.name)
        not in {fingerprint(numbers_of(case.on(name).settings)) for name in HARDWARE}
    ]
