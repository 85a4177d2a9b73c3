"""What a result file holds, and what made it."""

import json
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from auxmc.command_line.columns import columns
from auxmc.driver.results import attributes_of, read_result, read_table, regenerate_command
from auxmc.errors import CommandError, DamagedFile

_SETTINGS = "settings.json"
# Attributes of a result that are settings where it has none: a run of one's own.
_CHOICES = ("method", "draws", "warm_up", "chains")
_NOT_SHOWN = ("settings", "packages", "pieces")
_EMPTY = ("", "None", "{}", "[]", "False")


def describe(path: Path, preset: str | None = None) -> str:
    """Text about a file that a study or a command wrote, or about its folder: origin, settings, groups.

    For the word published, about what is published of a preset, or of all. Raises CommandError if there is none.
    """
    if str(path) == "published":
        # Not above: it needs a clone with studies.
        from auxmc_pipeline.command_line.show_published import describe_published

        return describe_published(preset)
    path = path / _SETTINGS if path.is_dir() else path
    if path.name == _SETTINGS and path.is_file():
        about = _run_of(path)
        files = sorted(one.name for one in path.parent.iterdir() if not one.name.startswith("."))
        parts = [f"files: {', '.join(files)}"]
    else:
        about, groups = open_result(path)
        parts = [_group(name, data) for name, data in groups.items()]
        if "study" in about:
            parts.append(f"Make it again:\n  {command_of(path, about)}")
    chosen = {name: value for name, value in about.items() if name not in (*_NOT_SHOWN, *about["settings"])}
    chosen["versions"] = ", ".join(f"{name} {version}" for name, version in about.get("packages", {}).items())
    return "\n\n".join([f"{path}\n{_rows(chosen)}", f"settings\n{_rows(about['settings'])}", *parts])


def open_result(path: Path) -> tuple[dict[str, Any], dict[str, xr.Dataset]]:
    """Attributes and groups of a result file, or of the table of a run, whose rows are the group `table`.

    Of a folder the draws or the record are taken. Raises CommandError, or DamagedFile if it is not what was written.
    """
    if path.is_dir():
        files = [path / name for name in ("result.nc", "record.parquet", "record.csv")]
        path = next(filter(Path.is_file, files), files[0])
    if not path.is_file():
        raise CommandError(
            f"{path}: no such file; `snakemake STUDY` makes results/<preset>/<study>/*.nc, and --output names the "
            "folder of other runs"
        )
    try:
        if path.suffix == ".nc":
            with read_result(path) as tree:
                about = attributes_of(tree)
                groups = {name: tree[name].to_dataset().load() for name in tree.children}
        elif path.suffix in (".csv", ".parquet"):
            about = _run_of(path)
            table = pd.read_csv(path) if path.suffix == ".csv" else read_table(path)
            groups = {"table": xr.Dataset.from_dataframe(table)}
        else:
            raise CommandError(f"{path}: expected a result file (.nc) or a table (.csv, .parquet)")
        choices = {name: about[name] for name in _CHOICES if name in about}
        about["settings"] = dict(about.get("settings") or choices)
    except (CommandError, DamagedFile):
        raise
    except Exception as error:
        # What a library says of bytes that are not its format may be of any kind.
        words = " ".join(str(error).split())
        raise CommandError(
            f"{path} cannot be read ({type(error).__name__}: {words}); make it again with {regenerate_command(path)}"
        ) from error
    if not {"study", "inference_library", "created"} & set(about):
        raise CommandError(f"{path}: does not say what made it: attribute 'study' is missing")
    return about, groups


def command_of(path: Path, about: dict[str, Any]) -> str:
    """The command that makes a result file again: one in `results/<preset>/<study>/` is made by the workflow."""
    settings, study = about["settings"], about["study"]
    preset = settings["preset"]
    if path.parts[-4:-1] == ("results", preset, study):
        return f"snakemake results/{preset}/{study}/{path.name} --config preset={preset}"
    chosen = {k: v for k, v in settings.items() if not isinstance(v, dict) and v not in ("", None, [])}
    words = [f"{key}={value_text(value)}" for key, value in chosen.items()]
    words += [f"++batch.{key}={value_text(values)}" for key, values in settings.get("batch", {}).items()]
    out = shlex.quote(str(path))
    return f"python -m auxmc_pipeline.steps.run study={study} {shlex.join(words)} out={out}"


def _run_of(path: Path) -> dict[str, Any]:
    """What the settings say that a command wrote next to its files, as attributes of a result."""
    try:
        content = json.loads((path.parent / _SETTINGS).read_text(encoding="utf-8"))
        numbers = content["numbers"]
        about = {"created": content["written"], "settings": numbers, "seed": numbers["seed"]}
        return content["environment"] | about
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandError(
            f"{path}: expected a result file (.nc), or a file next to the {_SETTINGS} of the command that wrote it "
            f"({type(error).__name__}: {error})"
        ) from error


def _rows(values: dict[str, Any]) -> str:
    shown = [(f"  {name}", value) for name, value in values.items() if str(value) not in _EMPTY]
    return columns([(name, f"{v:.6g}" if isinstance(v, float) else value_text(v)) for name, v in shown])


def _group(name: str, data: xr.Dataset) -> str:
    sizes = ", ".join(f"{dim} {size}" for dim, size in data.sizes.items())
    rows = [
        (f"  {name}", f"[{', '.join(map(str, a.dims))}]", str(a.dtype), str(a.attrs.get("units", "")))
        for name, a in data.data_vars.items()
    ]
    return f"group {name}: {sizes or 'numbers'}\n{columns(rows)}"


def value_text(value: Any) -> str:
    """A value of a setting as a command line has it."""
    if isinstance(value, list):
        return f"[{','.join(map(value_text, value))}]"
    return json.dumps(value) if isinstance(value, dict | bool) else str(value)
