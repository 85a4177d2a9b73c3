"""Which studies there are, and what each of them declares. No JAX, no pandas: the Snakefile imports this."""

import functools
import hashlib
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from auxmc.driver.provenance import fingerprint
from auxmc_pipeline.cases import Case, study_cases, sweep_cases
from auxmc_pipeline.code import code_digest
from auxmc_pipeline.kept_cases import digest_of_settings, kept_cases
from auxmc_pipeline.settings import (
    PRESETS,
    CaseSettings,
    SettingsError,
    compose_settings,
    nearest,
    numbers_of,
)


def checkout(package: Path) -> Path:
    """The checkout of the project that a package belongs to; its studies become importable.

    Args:
        package: folder that holds `src/`. Where it is no checkout, the innermost around the working directory counts.

    Raises:
        SettingsError: there is none.
    """
    here = Path.cwd()
    places = (package, here, *here.parents)
    root = next((place for place in places if (place / "conf" / "config.yaml").is_file()), None)
    if root is None:
        raise SettingsError(
            f"{here} is not inside a checkout of the project: the studies stand in its folders conf/ and "
            "experiments/, which the installed package does not have. Go to the folder that holds workflow/Snakefile, "
            "and try again"
        )
    if str(root) not in sys.path:
        sys.path.append(str(root))  # the studies are the package `experiments`
    return root


ROOT = checkout(Path(__file__).resolve().parents[2])
CONF = ROOT / "conf"
STUDIES = ROOT / "experiments"
CODE_ROOTS = (ROOT / "src", ROOT)
# They name, carry, keep and time numbers and make none: a run that their change repeated would give the same arrays.
_WITHOUT_NUMBERS = (
    "auxmc",
    *(
        f"auxmc.driver.{name}"
        for name in (
            "checkpoint",
            "files",
            "files.arrays",
            "files.writing",
            "progress",
            "provenance",
            "results",
            "stopwatch",
            "units",
        )
    ),
)


class Study(NamedTuple):
    """What a study declares in its `settings.py`.

    Attributes:
        name: folder in `experiments/` and file in `conf/study/`.
        title: a few words for headings.
        document: whose figures it draws: `fig_4_11` is figure 4.11 of this document.
        schema: its settings dataclass.
        batchable: settings whose values in a user's sweep run inside one compiled program.
        batched: settings whose values may run inside one program at all: those, and what the study's own grids use.
        figures: caption of each figure, by name.
        sweep_quantities: quantities that the plot of a user's sweep shows, in order.
    """

    name: str
    title: str
    document: str
    schema: type[CaseSettings]
    batchable: Sequence[str]
    batched: Sequence[str]
    figures: Mapping[str, str]
    sweep_quantities: Sequence[str]

    def module(self, part: str) -> ModuleType:
        """A module of the study, for example `run`."""
        return importlib.import_module(f"experiments.{self.name}.{part}")

    def parts(self, part: str) -> list[str]:
        """Names of the study's modules `claims` and `claims_*`, or `figures` and `figures_*`, in any of its folders."""
        folder = STUDIES / self.name
        return sorted(
            ".".join(path.relative_to(folder).with_suffix("").parts)
            for path in folder.rglob("*.py")
            if path.stem.split("_")[0] == part
        )

    def measures(self) -> dict[str, Any]:
        """What measures each claim: `MEASURE` of all modules of claims together."""
        return self._together("claims", "MEASURE")

    def numbers(self) -> dict[str, Any]:
        """What measures the numbers that findings state beside claims: `NUMBERS` of all modules of claims together."""
        return self._together("claims", "NUMBERS")

    def drawings(self) -> dict[str, Any]:
        """What draws each figure: `DRAW` of all modules of figures together, in the order of the captions."""
        found = self._together("figures", "DRAW")
        if set(found) != set(self.figures):
            raise ValueError(
                f"study {self.name}: figures with a caption and without a function, or the other way round: "
                f"{', '.join(sorted(set(found) ^ set(self.figures)))}"
            )
        return {name: found[name] for name in self.figures}

    def settings(self, overrides: Sequence[str] = ()) -> CaseSettings:
        """Composed and checked settings, rules across fields and the user's data included.

        Raises:
            SettingsError: a setting, a combination of settings or a data file is wrong.
        """
        settings = compose_settings(CONF, self.name, self.schema, overrides)
        self._check(settings)
        return settings

    def cases(self, preset: str) -> list[Case]:
        """The study's own cases at a preset, checked."""
        compose = functools.partial(study_cases, CONF, self.name, self.schema, preset)
        digest = digest_of_settings(CONF, self.name, self.schema, CODE_ROOTS)
        place = ROOT / ".cache" / "cases" / f"{self.name}-{preset}-{digest}.json"
        return self._checked(kept_cases(place, self.schema, compose))

    def sweep(self, preset: str, over: Sequence[str]) -> list[Case]:
        """Cases of a user's sweep at a preset, checked."""
        return self._checked(sweep_cases(CONF, self.name, self.schema, preset, over, self.batchable))

    def code(self, part: str) -> str:
        """Digest of everything that the study's modules of a part (`run`, `claims`, `figures`) import.

        Modules of the driver that make no numbers do not count for `run`.
        """
        without = _WITHOUT_NUMBERS if part == "run" else ()
        digests = [_code_digest(f"experiments.{self.name}.{module}", without) for module in self.parts(part)]
        return digests[0] if len(digests) == 1 else fingerprint(digests)

    def data_digest(self, settings: CaseSettings) -> str:
        """Digest of the content of the data files that the settings name; empty when there are none."""
        files = self._declared("data_files", _own_data)(settings)
        return hashlib.sha256(b"".join(Path(f).read_bytes() for f in files)).hexdigest()[:16] if files else ""

    def _together(self, part: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for module in self.parts(part):
            for key, function in getattr(self.module(module), name, {}).items():
                if found.setdefault(key, function) is not function:
                    raise ValueError(f"study {self.name}: {key} stands in two modules of {part}")
        return found

    def _checked(self, cases: list[Case]) -> list[Case]:
        for case in cases:
            self._check(case.settings)
        return cases

    def _check(self, settings: CaseSettings) -> None:
        for name in settings.batch:
            if name not in self.batched:
                allowed = (
                    f"runs together only {', '.join(self.batched)}"
                    if self.batched
                    else f"runs no settings side by side; sweep over {name} instead"
                )
                raise SettingsError(f"batch.{name}: this study {allowed}")
        try:
            self._declared("check", lambda _: None)(settings)
        except SettingsError:
            raise
        except ValueError as error:
            raise SettingsError(str(error)) from error
        except (OSError, ImportError):
            raise
        except Exception as error:
            # Damaged archives and tables fail in ways that no reader foresees; without data it is an error of ours.
            named = getattr(settings, "data", "") or getattr(settings, "weights", "")
            if not named:
                raise
            words = " ".join(str(error).split())
            raise SettingsError(f"{named}: cannot be read ({type(error).__name__}: {words})") from error

    def _declared(self, name: str, default: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return getattr(self.module("settings"), name, default)  # type: ignore[no-any-return]


def studies() -> list[str]:
    """Names of all studies, in alphabetical order."""
    return sorted(path.parent.name for path in STUDIES.glob("*/settings.py"))


def load_study(name: str) -> Study:
    """The study with the given name.

    Raises:
        SettingsError: there is no such study.
    """
    if name not in studies():
        raise SettingsError(
            f"unknown study: {name!r}.{nearest(name, studies())} Allowed: {', '.join(studies())}"
        )
    declared = importlib.import_module(f"experiments.{name}.settings")
    return Study(
        name,
        declared.TITLE,
        declared.DOCUMENT,
        declared.Settings,
        getattr(declared, "BATCHABLE", ()),
        getattr(declared, "BATCHED", getattr(declared, "BATCHABLE", ())),
        declared.FIGURES,
        declared.SWEEP_QUANTITIES,
    )


def _own_data(settings: Any) -> list[str]:
    """What a study's result depends on where the study names no other files: the user's data."""
    return [settings.data] if getattr(settings, "data", "") else []


def check_preset(preset: str) -> str:
    """The preset itself if there is one of that name.

    Raises:
        SettingsError: there is none.
    """
    if preset not in PRESETS:
        raise SettingsError(
            f"unknown preset: {preset!r}.{nearest(preset, PRESETS)} Allowed: {', '.join(PRESETS)}"
        )
    return preset


@functools.cache
def _code_digest(module: str, without: tuple[str, ...]) -> str:
    # Once a process: what runs is what was imported.
    return code_digest(module, CODE_ROOTS, without)


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
    """Cases whose rows in a table were made with other settings than the present ones.

    Args:
        study: the study.
        preset: its preset.
        numbers: digest of the settings by case, as the table has it.

    Returns:
        Names of the cases that differ or are missing; Snakemake cannot see them where the result files are gone.
    """
    now = {case.name: fingerprint(numbers_of(case.settings)) for case in study.cases(preset)}
    return [name for name, digest in now.items() if numbers.get(name) != digest]
