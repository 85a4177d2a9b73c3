"""The results of a preset as a Process Run Crate: what is there, what made it, when, on what, under which licence."""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from auxmc.driver.files.writing import write_atomically
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.publishing.jobs import read_jobs
from auxmc_pipeline.publishing.unfinished import PIECES, about_piece

__all__ = ["NAME", "crate_of", "write_crate"]

NAME = "ro-crate-metadata.json"

_CRATE = "https://w3id.org/ro/crate/1.1"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_LICENCE = "https://spdx.org/licenses/MIT"
_SOFTWARE = "#auxmc"
_AUTHORS = "#contributors"
_KINDS = {
    "": "text/plain",  # SHA256SUMS
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".svg": "image/svg+xml",
    ".npz": "application/zip",
    ".gz": "application/gzip",
}


def write_crate(place: Path, preset: str) -> None:
    """Writes the crate's metadata beside the results of a preset, the same bytes for the same results."""
    text = json.dumps(crate_of(place, preset), indent=1) + "\n"
    write_atomically(place / NAME, lambda path: path.write_text(text, encoding="utf-8"))


def crate_of(place: Path, preset: str) -> dict[str, Any]:
    """JSON-LD of an RO-Crate 1.1 with profile Process Run Crate 0.5: an action a study, with its files.

    Args:
        place: folder of the preset in `published/`, which holds a job's record or a piece at least.
        preset: its name.
    """
    names = sorted(path.name for path in place.iterdir() if path.is_dir())
    jobs = {name: read_jobs(place / name / "pieces.csv") for name in names}
    files = {name: sorted(p for p in (place / name).rglob("*") if p.is_file()) for name in names}
    dates = [str(table["created"].max()) for table in jobs.values() if len(table)]
    newest = max(dates or [about_piece(path)["created"] for path in place.glob(f"*/{PIECES}/*/*.npz")])
    actions = [_action(name, preset, jobs[name], files[name], place) for name in names]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": {"@id": _PROFILE},
        "name": f"Results of auxmc at preset {preset}",
        "description": "Tables, verdicts, figures and the record of every job of numerical studies on "
        "auxiliary-variable Markov chain Monte Carlo and the estimation of evidences.",
        "datePublished": newest,
        "license": {"@id": _LICENCE},
        "author": {"@id": _AUTHORS},
        "publisher": {"@id": _AUTHORS},
        "hasPart": [{"@id": _id(path, place)} for name in names for path in files[name]],
        "mentions": [{"@id": action["@id"]} for action in actions],
    }
    return {
        "@context": [f"{_CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context"],
        "@graph": [
            {
                "@id": NAME,
                "@type": "CreativeWork",
                "about": {"@id": "./"},
                "conformsTo": {"@id": _CRATE},
            },
            root,
            *_people_and_programs(jobs),
            *actions,
            *(_file(path, place) for name in names for path in files[name]),
        ],
    }


def _people_and_programs(jobs: dict[str, pd.DataFrame]) -> list[dict[str, Any]]:
    versions = sorted({str(text) for table in jobs.values() for text in table["versions"]})
    return [
        {
            "@id": _PROFILE,
            "@type": "CreativeWork",
            "name": "Process Run Crate",
            "version": _PROFILE.rpartition("/")[2],
        },
        {"@id": _LICENCE, "@type": "CreativeWork", "name": "MIT License", "description": "The MIT License"},
        {"@id": _AUTHORS, "@type": "Organization", "name": "The auxmc contributors"},
        {
            "@id": _SOFTWARE,
            "@type": "SoftwareApplication",
            "name": "auxmc",
            "description": "Reproducible experiments on auxiliary-variable MCMC and evidence estimation",
            "version": version("auxmc"),
            "softwareRequirements": "; or ".join(versions),
        },
    ]


def _action(name: str, preset: str, jobs: pd.DataFrame, files: Sequence[Path], place: Path) -> dict[str, Any]:
    machines = sorted({f"{n} cores of {p}" for n, p in zip(jobs["n_cores"], jobs["processor"], strict=True)})
    done = (
        f"{len(jobs)} jobs of versions {', '.join(sorted(set(jobs['commit'])))}; {jobs['cpu_s'].sum():.0f} s of "
        f"processor time on {' and on '.join(machines)}. Settings, code and data of every job: {name}/pieces.csv."
    )
    times = {"startTime": str(jobs["created"].min()), "endTime": str(jobs["created"].max())}
    return {
        "@id": f"#run-{name}",
        "@type": "CreateAction",
        "name": f"Study {name} at preset {preset}",
        "description": f"{load_study(name).title}. {done if len(jobs) else 'Pieces of cases that are not finished.'}",
        "instrument": {"@id": _SOFTWARE},
        "agent": {"@id": _AUTHORS},
        **(times if len(jobs) else {}),
        "result": [{"@id": _id(path, place)} for path in files],
    }


def _file(path: Path, place: Path) -> dict[str, Any]:
    content = path.read_bytes()
    return {
        "@id": _id(path, place),
        "@type": "File",
        "name": _id(path, place),
        "encodingFormat": _KINDS[path.suffix],
        "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _id(path: Path, place: Path) -> str:
    return path.relative_to(place).as_posix()
