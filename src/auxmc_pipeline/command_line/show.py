"""What a result file holds, and what made it."""

import json
import math
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from auxmc.command_line.columns import columns
from auxmc.driver.results import attributes_of, made_again_by, read_result, read_table
from auxmc.errors import CommandError, DamagedFile

_NEEDED = ("study", "case", "settings", "numbers", "code", "seed")
# Of a run of one's own.
_CHOICES = ("method", "draws", "warm_up", "chains")
_SETTINGS = "settings.json"


def open_result(path: Path) -> xr.DataTree:
    """Opens what a study, `auxmc sample` or `auxmc evidence` wrote, or the record of `auxmc stream` as statistics.

    Raises:
        CommandError: If there is no such file, or it is not a result file of this project.
    """
    if not path.is_file():
        raise CommandError(
            f"no file {path}: result files stand in results/<preset>/<study>/ and are made with `snakemake STUDY`, or "
            "in the folder that --output named"
        )
    if path.suffix != ".nc":
        return _record(path)
    try:
        tree = read_result(path)
    except DamagedFile as error:
        raise CommandError(str(error)) from error
    missing = [name for name in _NEEDED if name not in tree.attrs]
    if missing and tree.attrs.get("inference_library") != "auxmc":
        tree.close()
        raise CommandError(
            f"{path} does not say what made it: attribute {missing[0]!r} is missing. Was it made here?"
        )
    return tree


def settings_of(about: dict[str, Any]) -> dict[str, Any]:
    """Settings of a result, from its attributes."""
    return dict(about.get("settings") or {name: about[name] for name in _CHOICES if name in about})


def _record(path: Path) -> xr.DataTree:
    """Where models stand at the end of a stream, from its record."""
    about = _run_of(path)
    table = _table(path)
    if not {"model", "log_evidence"} <= set(table):
        raise CommandError(f"{path}: expected result.nc, chains.nc or record.parquet of a run")
    last = table.groupby("model", sort=False).tail(1).set_index("model").to_xarray()
    kept = [name for name in ("log_evidence", "log_evidence_error", "n_rows") if name in last]
    tree = xr.DataTree.from_dict({"statistics": last[kept]})
    tree.attrs = about
    return tree


def _run_of(path: Path) -> dict[str, Any]:
    """What the settings say that a command wrote next to its files, as attributes of a result."""
    beside = path.parent / _SETTINGS
    try:
        content = json.loads(beside.read_text(encoding="utf-8"))
        about = {**content["environment"], "created": content["written"], "settings": content["numbers"]}
        return about | {"seed": content["numbers"]["seed"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandError(
            f"{path}: expected a result file (.nc), or a file next to the {_SETTINGS} of the command that wrote it "
            f"({type(error).__name__}: {error})"
        ) from error


def _table(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path) if path.suffix == ".csv" else read_table(path)
    except (DamagedFile, ValueError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error


def not_readable(path: Path, error: Exception) -> CommandError:
    """What to say of a result file that opens and does not hold what a result file holds."""
    words = " ".join(str(error).split())
    return CommandError(
        f"{path} cannot be read ({type(error).__name__}: {words}); make it again with {made_again_by(path)}"
    )


def describe(path: Path) -> str:
    """Text about a result file, or another file or the folder of a run: what made it, its settings, its groups.

    Raises:
        CommandError: If there is no such file, or it is not a result file.
    """
    if path.is_dir():
        path = path / _SETTINGS
    if path.suffix in (".json", ".csv", ".parquet") and path.is_file():
        about = _run_of(path)
        parts = [_origin(path, about), _settings(about["settings"])]
        if path.suffix == ".json":
            files = sorted(one.name for one in path.parent.iterdir() if not one.name.startswith("."))
            return "\n\n".join([*parts, f"files: {', '.join(files)}"])
        return "\n\n".join([*parts, _group("table", xr.Dataset.from_dataframe(_table(path)))])
    tree = open_result(path)
    try:
        about = attributes_of(tree)
        parts = [_origin(path, about), _settings(settings_of(about))]
        parts += [_group(name, tree[name].to_dataset()) for name in tree.children]
    except Exception as error:
        raise not_readable(path, error) from error
    finally:
        tree.close()
    if "study" not in about:
        return "\n\n".join(parts)
    return "\n\n".join([*parts, f"Make it again:\n  {command_of(path, about)}"])


def command_of(path: Path, about: dict[str, Any]) -> str:
    """The command that makes a result file again.

    Args:
        path: the file; one in `results/<preset>/<study>/` is made by the workflow.
        about: its attributes.
    """
    # Here: it needs Hydra, which only studies have.
    from auxmc_pipeline.settings import PRESETS

    settings, study = about["settings"], about["study"]
    if path.parts[-3:-1] == (settings["preset"], study) and settings["preset"] in PRESETS:
        return (
            f"snakemake results/{settings['preset']}/{study}/{path.name} --config preset={settings['preset']}"
        )
    chosen = {k: v for k, v in settings.items() if not isinstance(v, dict) and v not in ("", None, [])}
    words = [f"{key}={_hydra(value)}" for key, value in chosen.items()]
    words += [f"++batch.{key}={_hydra(values)}" for key, values in settings.get("batch", {}).items()]
    return (
        f"python -m auxmc_pipeline.steps.run study={study} {shlex.join(words)} out={shlex.quote(str(path))}"
    )


def _origin(path: Path, about: dict[str, Any]) -> str:
    changed = " with uncommitted changes" if about.get("git_dirty") == "True" else ""
    versions = about.get("packages") or {
        name.removesuffix("_version").replace("inference_library", "auxmc"): version
        for name, version in about.items()
        if name.endswith("_version")
    }
    words = {"numbers": "settings", "log_evidence_standard_error": "its error"}
    names = ("study", "case", "created", "created_at", "git_commit", "seed", "numbers", "code")
    rows = [
        (words.get(name, "made" if "created" in name else name), str(about[name]))
        for name in (*names, "log_evidence", "log_evidence_standard_error", "warnings")
        if str(about.get(name)) not in ("None", "[]")
    ]
    rows = [("commit", f"{text}{changed}") if name == "git_commit" else (name, text) for name, text in rows]
    if "processor" in about:
        rows.append(
            (
                "machine",
                f"{about['processor']}, {about.get('n_cores', '?')} cores, {about.get('memory_gib', '?')} GiB, device "
                f"{about.get('device', 'unknown')}, {about.get('platform', '')}",
            )
        )
    rows.append(("versions", ", ".join(f"{name} {version}" for name, version in versions.items())))
    if "wall_s" in about:
        compile_s, run_s = about["compile_s"], about.get("run_s", about.get("sampling_s", math.nan))
        most = f"; {about['peak_memory_mib']:.0f} MiB at most" if "peak_memory_mib" in about else ""
        rows.append(
            (
                "took",
                f"{about['wall_s']:.1f} s, of these {compile_s:.1f} s compiling and {run_s:.1f} s running{most}",
            )
        )
    return f"{path}\n{columns(rows)}"


def _settings(settings: dict[str, Any]) -> str:
    rows = [(f"  {name}", _hydra(value)) for name, value in settings.items() if value not in ({}, "", None)]
    return f"settings\n{columns(rows)}"


def _group(name: str, data: xr.Dataset) -> str:
    sizes = ", ".join(f"{dim} {size}" for dim, size in data.sizes.items())
    rows = [
        (
            f"  {variable}",
            f"[{', '.join(map(str, array.dims))}]",
            str(array.dtype),
            str(array.attrs.get("units") or ""),
        )
        for variable, array in data.data_vars.items()
    ]
    return f"group {name}: {sizes or 'numbers'}\n{columns(rows)}" if rows else f"group {name}: empty"


def _hydra(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(_hydra(v) for v in value)}]"
    return json.dumps(value) if isinstance(value, dict | bool) else str(value)
