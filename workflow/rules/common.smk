# Helpers of the rules: which cases there are and what each depends on. No mathematics, no values.
import functools
import shlex
import sys

from snakemake.exceptions import WorkflowError

# The project, whatever the working directory is and whether this is the main workflow or a module of another one.
if not workflow.current_basedir.is_local:
    raise WorkflowError(
        "this workflow runs code and settings that stand beside it: clone the project and name workflow/Snakefile "
        "of the clone, not an address"
    )
ROOT = Path(workflow.current_basedir).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from auxmc.driver.provenance import fingerprint
from auxmc_pipeline.code import code_digest
from auxmc_pipeline.settings import PRESETS, SettingsError, numbers_of
from auxmc_pipeline.catalogue import CODE_ROOTS, check_preset, identity_of, load_study, studies

STUDIES = studies()


def checked(function):
    """Turns a wrong setting into one line for the user instead of a traceback."""

    @functools.wraps(function)
    def wrapper(*args):
        try:
            return function(*args)
        except (SettingsError, OSError) as error:
            raise WorkflowError(str(error))

    return wrapper


KNOWN_CONFIG = ("preset", "study", "name", "over")
for _key in config:
    if _key not in KNOWN_CONFIG:
        raise WorkflowError(
            f"unknown --config key {_key!r}. Allowed: {', '.join(KNOWN_CONFIG)}. "
            "Settings of a study go into over, for example --config over='n_importance=8'"
        )

PRESET = checked(check_preset)(str(config.get("preset", "quick")))
TABLES = ("summary", "curves")
PYTHON = "python" if "conda" in str(workflow.deployment_settings.deployment_method) else sys.executable
MODULES = f"{ROOT}/src:{ROOT}"


wildcard_constraints:
    preset="|".join(PRESETS),
    study="|".join(STUDIES),
    set="(sweeps/[^/]+/)?",
    case="[^/]+",
    piece="[0-9]+",
    n_pieces="[0-9]+",
    figure="[^/]+",
    name="[A-Za-z0-9._-]+",


@functools.lru_cache(maxsize=None)
def cases_of(study, preset, sweep):
    """Cases of a study by name; those of the user's sweep when `sweep` names one."""
    declared = load_study(study)
    if sweep:
        over = shlex.split(str(config.get("over", "")), posix=False)
        return {case.name: case for case in declared.sweep(preset, over)}
    return {case.name: case for case in declared.cases(preset)}


@checked
def case_of(wildcards):
    sweep = wildcards.set.removeprefix("sweeps/").rstrip("/")
    cases = cases_of(wildcards.study, wildcards.preset, sweep)
    if wildcards.case not in cases:
        raise WorkflowError(
            f"study {wildcards.study} has no case {wildcards.case!r}. Cases: {', '.join(cases)}"
        )
    return cases[wildcards.case]


@checked
def identity_of_case(wildcards):
    """Settings that change results, code and data: any change runs the case again, nothing else does."""
    study = load_study(wildcards.study)
    return identity_of(study, case_of(wildcards).settings)


def overrides_of_case(wildcards):
    return list(case_of(wildcards).overrides)


def resource_of(name, default):
    return lambda wildcards: case_of(wildcards).settings.resources.get(name, default)


def pieces_of_case(wildcards):
    """Files that a case is merged from; none where it runs in one job."""
    n_pieces = case_of(wildcards).settings.resources.get("pieces", 1)
    folder = f"results/{wildcards.preset}/{wildcards.study}/{wildcards.set}pieces/{wildcards.case}"
    return [f"{folder}/{piece + 1}-of-{n_pieces}.npz" for piece in range(n_pieces)] if n_pieces > 1 else []


@checked
def case_files(study, preset, sweep=""):
    part = f"sweeps/{sweep}/" if sweep else ""
    return [f"results/{preset}/{study}/{part}{name}.nc" for name in cases_of(study, preset, sweep)]


@checked
def numbers_of_cases(study, preset, sweep=""):
    """Digest of the settings of all cases: tables made from others are out of date."""
    cases = cases_of(study, preset, sweep).values()
    return fingerprint([numbers_of(case.settings) for case in cases])


def code_of(module):
    return code_digest(module, CODE_ROOTS)


def content_of(*files):
    """Digest of what text files hold; one that is not there counts as empty."""
    paths = [Path(ROOT) / file for file in files]
    return fingerprint([path.read_text(encoding="utf-8") if path.is_file() else "" for path in paths])


def tables_of(study, preset):
    return [f"results/{preset}/{study}/{table}.parquet" for table in TABLES]


def figure_files(study, preset):
    return [
        f"paper_figures/{preset}/{study}/{figure}.{suffix}"
        for figure in load_study(study).figures
        for suffix in ("pdf", "png")
    ]


def claims_file(study, preset):
    return f"results/{preset}/{study}/claims.csv"


def report_file(preset):
    return f"results/{preset}/report.html"


def study_targets(study, preset):
    return [*tables_of(study, preset), *figure_files(study, preset), claims_file(study, preset)]


@checked
def sweep_folder():
    missing = [key for key in ("study", "name", "over") if not config.get(key)]
    if missing:
        raise WorkflowError(
            f"target sweep needs --config {' '.join(f'{key}=...' for key in missing)}, for example "
            "snakemake sweep --config study=gaussian_latent name=mine over='n_importance=1,2,4'"
        )
    load_study(config["study"])
    return f"results/{PRESET}/{config['study']}/sweeps/{config['name']}"


# Wrong settings are refused here, before Snakemake plans anything; jobs on a cluster need not check again.
if workflow.is_main_process:
    for _study in STUDIES:
        checked(cases_of)(_study, PRESET, "")
    if any(key in config for key in ("study", "name", "over")):
        checked(cases_of)(Path(sweep_folder()).parts[2], PRESET, config["name"])
