"""What a result file holds, and what made it."""

import json
import shlex
from pathlib import Path
from typing import Any

import xarray as xr

from auxmc.command_line.columns import columns
from auxmc.command_line.errors import CommandError
from auxmc.driver.files.arrays import DamagedFile
from auxmc.driver.results import attributes_of, made_again_by, read_result
from auxmc_pipeline.settings import PRESETS

_NEEDED = ("study", "case", "settings", "numbers", "code", "seed")


def open_result(path: Path) -> xr.DataTree:
    """Opens a result file.

    Raises:
        CommandError: there is no such file, or it is not a result file of this project.
    """
    if path.suffix != ".nc":
        raise CommandError(
            f"{path} is not a result file: those end in .nc and stand in results/<preset>/<study>/"
        )
    if not path.is_file():
        raise CommandError(
            f"no file {path}: result files stand in results/<preset>/<study>/ and are made with `snakemake STUDY`"
        )
    try:
        tree = read_result(path)
    except DamagedFile as error:
        raise CommandError(str(error)) from error
    missing = [name for name in _NEEDED if name not in tree.attrs]
    if missing:
        tree.close()
        raise CommandError(
            f"{path} does not say what made it: attribute {missing[0]!r} is missing. Was it made here?"
        )
    return tree


def not_readable(path: Path, error: Exception) -> CommandError:
    """What to say of a result file that opens and does not hold what a result file holds."""
    words = " ".join(str(error).split())
    return CommandError(
        f"{path} cannot be read ({type(error).__name__}: {words}); make it again with {made_again_by(path)}"
    )


def describe(path: Path) -> str:
    """Text about a result file: what made it, its settings, its groups.

    Raises:
        CommandError: there is no such file, or it is not a result file.
    """
    tree = open_result(path)
    try:
        about = attributes_of(tree)
        parts = [_origin(path, about), _settings(about["settings"])]
        parts += [_group(name, tree[name].to_dataset()) for name in tree.children]
    except Exception as error:
        raise not_readable(path, error) from error
    finally:
        tree.close()
    return "\n\n".join([*parts, f"Make it again:\n  {command_of(path, about)}"])


def command_of(path: Path, about: dict[str, Any]) -> str:
    """The command that makes a result file again.

    Args:
        path: the file; one in `results/<preset>/<study>/` is made by the workflow.
        about: its attributes.
    """
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
    packages = about.get("packages", {})
    rows = [
        ("study", about["study"]),
        ("case", about["case"]),
        ("made", str(about.get("created", "unknown"))),
        ("commit", f"{about.get('git_commit', 'unknown')}{changed}"),
        ("seed", str(about["seed"])),
        ("settings", str(about["numbers"])),
        ("code", str(about["code"])),
        (
            "machine",
            f"{about.get('processor', 'unknown')}, {about.get('n_cores', '?')} cores, "
            f"{about.get('memory_gib', '?')} GiB, device {about.get('device', 'unknown')}, "
            f"{about.get('platform', '')}",
        ),
        ("versions", ", ".join(f"{name} {version}" for name, version in packages.items())),
    ]
    if "wall_s" in about:
        rows.append(
            (
                "took",
                f"{about['wall_s']:.1f} s, of these {about['compile_s']:.1f} s compiling and {about['run_s']:.1f} s "
                f"running; {about['peak_memory_mib']:.0f} MiB at most",
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
