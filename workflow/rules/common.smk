# Helpers of the rules: which cases there are and what each depends on. No mathematics, no values.
import functools
import os
import re
import shlex
import sys

from snakemake.cli import parse_config
from snakemake.exceptions import WorkflowError

# The project, whatever the working directory is and whether this is the main workflow or a module of another one.
if not workflow.current_basedir.is_local:
    raise WorkflowError(
        "this workflow runs code and settings of its folder: clone the project and name the Snakefile of the clone, "
        "not an address"
    )
ROOT = Path(workflow.current_basedir).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

try:
    from auxmc.driver.provenance import fingerprint
    from auxmc_pipeline.code import code_digest
    from auxmc_pipeline.fork_server import ADDRESS
    from auxmc_pipeline.settings import HARDWARE, PRESETS, SettingsError, nearest, numbers_of
    from auxmc_pipeline.catalogue import CODE_ROOTS, check_preset, identity_of, load_study, studies

    STUDIES = studies()
except ModuleNotFoundError as missing:
    if "--lint" not in sys.argv:
        raise WorkflowError(f"{missing}: run Snakemake in the environment that `make setup` makes")
    STUDIES, PRESETS, HARDWARE = [], [], []  # rules are linted without the packages of the studies


def checked(function):
    """Turns a wrong setting into one line for the user instead of a traceback."""

    @functools.wraps(function)
    def wrapper(*args):
        try:
            return function(*args)
        except (SettingsError, OSError) as error:
            raise WorkflowError(str(error))

    return wrapper


SWEEP = ("study", "name", "over")
KNOWN_CONFIG = ("preset", "variant", "hardware", "id", "formats", *SWEEP)
for _key in config:
    if _key not in KNOWN_CONFIG:
        raise WorkflowError(
            f"unknown --config key {_key!r}.{nearest(_key, KNOWN_CONFIG)} Allowed: {', '.join(KNOWN_CONFIG)}. "
            "Settings of a study go into over, for example --config over='n_importance=8'"
        )


def typed(key):
    """A word of --config as it was typed, of which Snakemake makes a number or a comment where it can; else empty."""
    value = config.get(key)
    given = dict(entry.split("=", 1) for entry in workflow.config_settings.config_args or ())
    if key in given and parse_config([f"{key}={given[key]}"])[key] == value and not isinstance(value, list):
        return given[key]
    if not (value is None or isinstance(value, str) or (key == "over" and isinstance(value, list))):
        raise WorkflowError(f"{key}: expected text, got {value!r}: put it into quotation marks")
    return value or ""


if typed("variant"):
    # In place of the studies, under names of their own: results and figures go to folders of their own.
    _variants = {study: load_study(study).variants() for study in STUDIES}
    _known = sorted({name for names in _variants.values() for name in names})
    STUDIES = [f"{study}-{typed('variant')}" for study in STUDIES if typed("variant") in _variants[study]]
    if not STUDIES:
        raise WorkflowError(f"unknown variant {typed('variant')!r}. Allowed: {', '.join(_known) or 'none'}")
OF_VARIANT = f"-{typed('variant')}" * bool(typed("variant"))
PRESET = typed("preset") if "preset" in config else "quick"
# Of figures: SVG, and what is asked for by --config formats="pdf png".
FORMATS = list(dict.fromkeys(["svg", *typed("formats").split()]))
if _odd := [suffix for suffix in FORMATS if suffix not in ("svg", "pdf", "png")]:
    raise WorkflowError(f"formats: expected pdf and png, got {' '.join(_odd)}")
if typed("hardware") not in ("", *HARDWARE):
    raise WorkflowError(f"hardware: expected cpu, gpu or auto, got {typed('hardware')}")
NAME = "(?!\\.\\.?/)[A-Za-z0-9._-]+"  # of a sweep: a folder
PYTHON = "python" if "conda" in str(workflow.deployment_settings.deployment_method) else sys.executable


def pipeline(wildcards, resources):
    """Start of a command. Snakemake does not record what depends on resources: a folder may move, and nothing runs."""
    start = "auxmc_pipeline.fork_server auxmc_pipeline" if ADDRESS in os.environ else "auxmc_pipeline"
    return f"PYTHONPATH={shlex.quote(f'{ROOT}/src:{ROOT}')} {shlex.quote(PYTHON)} -m {start}"


wildcard_constraints:
    preset="|".join(PRESETS),
    study="|".join(STUDIES),
    set=f"(sweeps/{NAME}/)?",
    case="[^/]+",
    piece="[0-9]+",
    n_pieces="[0-9]+",
    figure="[^/]+",
    name=NAME,


@functools.lru_cache(maxsize=None)
def cases_of(study, preset, sweep):
    """Cases of a study by name; those of the user's sweep when `sweep` names one."""
    if sweep:
        from auxmc_pipeline.overrides import split_overrides  # Hydra takes longer to import than the rest of a plan

        cases = load_study(study).sweep(preset, split_overrides(typed("over")))
    else:
        cases = load_study(study).cases(preset)
    return {case.name: case.on(typed("hardware")) for case in cases}


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
    return f"results/{preset}/{study}/tables"


def missing_tables(wildcards):
    """Tables that are gone from a study's folder, of which Snakemake looks at the age alone."""
    folder = Path(f"results/{wildcards.preset}/{wildcards.study}/tables")
    if not folder.is_dir():
        return []
    from pyarrow import ArrowException, parquet  # only where there are tables

    try:
        named = parquet.read_table(folder / "quantity.parquet", columns=["table"])["table"].to_pylist()
    except (OSError, ArrowException):
        return ["quantity"]
    return sorted(name for name in {"settings", *named} if not (folder / f"{name}.parquet").is_file())


def figure_files(study, preset):
    return [
        f"paper_figures/{preset}/{study}/{figure}.{suffix}"
        for figure in load_study(study).figures
        for suffix in FORMATS
    ]


def claims_files(study, preset):
    return [f"results/{preset}/{study}/{file}.csv" for file in ("claims", "numbers")]


@functools.lru_cache(maxsize=None)
@checked
def check_lines_of(study):
    """Stops before any sampler runs where lines of claims and functions that measure them do not agree."""
    folder = f"experiments/{load_study(study).folder}"
    texts = content_of(f"{folder}/claims.csv", f"{folder}/settings.py", "workflow/report/front.toml")
    digests = load_study(study).code("claims"), code_of("auxmc_pipeline.judging.study_tables"), texts
    passed = Path(ROOT) / ".cache" / "checked_claims" / fingerprint(digests)
    if not passed.is_file():  # the check imports what measures claims, for seconds
        from auxmc_pipeline.judging.study_tables import check_lines

        check_lines([study, *(other for other in STUDIES if other != study)])
        passed.parent.mkdir(parents=True, exist_ok=True)
        passed.touch()
    return ""


def claims_of_tables(wildcards):
    """Claims of the studies whose tables are there: no sampler runs."""
    there = [study for study in STUDIES if Path(tables_of(study, PRESET)).exists()]
    if not there:
        raise WorkflowError(
            f"no tables in results/{PRESET}/: make them with `make reproduce PRESET={PRESET}`"
        )
    return [file for study in there for file in claims_files(study, PRESET)]


@checked
def files_of_claim():
    """Results of the cases that the claim named by `id` needs."""
    from auxmc_pipeline.judging.study_tables import cases_of_claim  # pandas: only where a claim is asked for

    if not typed("id"):
        raise WorkflowError("target claim needs --config id=..., for example snakemake claim --config id=PM-G12")
    needed = cases_of_claim(typed("id"), PRESET, STUDIES)
    files = [f"results/{PRESET}/{study}/{case}.nc" for study, cases in needed.items() for case in cases]
    if not files:
        raise WorkflowError(f"claim {typed('id')}: preset {PRESET} runs no case of it")
    return files


def report_file(preset):
    """The report of all studies, or that of the studies that have the variant."""
    return f"results/{preset}/report{OF_VARIANT}.html"


def study_targets(study, preset):
    """All that rules make of a study: what is deleted comes back."""
    makers = (case_files, figure_files, claims_files)
    return [tables_of(study, preset), *(file for files_of in makers for file in files_of(study, preset))]


@checked
def sweep_folder():
    study, name, _ = words = [typed(key) for key in SWEEP]
    missing = [key for key, word in zip(SWEEP, words) if not word]
    if missing:
        raise WorkflowError(
            f"target sweep needs --config {' '.join(f'{key}=...' for key in missing)}, for example "
            "snakemake sweep --config study=gaussian_latent name=mine over='n_importance=1,2,4'"
        )
    if not re.fullmatch(f"{NAME}/", f"{name}/"):
        raise WorkflowError(
            f"name: expected letters, digits, '.', '_' and '-', other than '.' and '..', got {name!r}"
        )
    load_study(study)
    return f"results/{PRESET}/{study}/sweeps/{name}"


# Wrong words are rejected before Snakemake plans anything; jobs on a cluster need not check again.
if workflow.is_main_process and STUDIES:
    checked(check_preset)(PRESET)
    if "id" in config or "claim" in sys.argv:
        files_of_claim()
    if any(key in config for key in SWEEP):
        checked(cases_of)(Path(sweep_folder()).parts[2], PRESET, typed("name"))
