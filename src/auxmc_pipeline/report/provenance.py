"""What produced the results: machine, versions, code, seeds, time and memory."""

import csv
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from auxmc.driver.results import read_attributes
from auxmc_pipeline.needs import number

# Rules beside the one that runs cases, by the name of their benchmark file.
_RULES = {"summarise": "summarise", "figures": "draw", "claims": "judge_claims", "report": "write_report"}
_MACHINE = (
    "processor",
    "n_cores",
    "memory_gib",
    "platform",
    "device",
    "python",
    "threads",
    "jax_settings",
    "packages",
)


class CaseRecord(NamedTuple):
    """Provenance of a result file.

    Attributes:
        study: study of the case.
        case: name of the case.
        path: result file, relative to the root of the project.
        attributes: attributes of the file, containers unpacked; empty where there is no file.
    """

    study: str
    case: str
    path: str
    attributes: dict[str, Any]

    def seconds(self, name: str) -> float:
        """An attribute that is a time or a size; NaN where it is missing."""
        return float(self.attributes.get(name, "nan"))


class Machine(NamedTuple):
    """An environment that results came from: what it is, and how many cases it ran."""

    about: dict[str, Any]
    n_cases: int


class RuleCost(NamedTuple):
    """Jobs of a rule in a study: number, total run time and CPU time in seconds, largest memory in MiB."""

    study: str
    rule: str
    n_jobs: int
    wall_s: float
    cpu_s: float
    peak_mib: float


def case_record(study: str, case: str, preset: str, root: Path = Path()) -> CaseRecord:
    """Reads the provenance of a case from its result file.

    Args:
        study: name of the study.
        case: name of the case.
        preset: preset of the case.
        root: folder that holds `results/`.
    """
    path = Path("results") / preset / study / f"{case}.nc"
    return CaseRecord(study, case, str(path), read_attributes(root / path) if (root / path).is_file() else {})


def machines(records: Sequence[CaseRecord]) -> list[Machine]:
    """The different environments of results, the one with the most cases first."""
    counts = Counter(
        json.dumps(
            {name: record.attributes.get(name, "") for name in _MACHINE}, default=lambda value: value.item()
        )
        for record in records
        if record.attributes
    )
    return [Machine(json.loads(text), count) for text, count in counts.most_common()]


def rule_costs(
    preset: str, records: Mapping[str, Sequence[CaseRecord]], root: Path = Path()
) -> list[RuleCost]:
    """Time and memory of the jobs of every rule, from the records that Snakemake keeps.

    CPU time and memory of cases are those that their result files state, where there are any: Snakemake looks at a
    long job every half minute only.

    Args:
        preset: preset of the jobs.
        records: provenance of the cases of each study.
        root: folder that holds `logs/`.
    """
    out = []
    for study, cases in records.items():
        stated = {record.case: record for record in cases}
        jobs: dict[str, list[tuple[float, float, float]]] = {}
        for path in sorted((root / "logs" / preset / study).glob("*.benchmark.tsv")):
            name, job = path.name.removesuffix(".benchmark.tsv"), _benchmark(path)
            cpu_s, peak_mib = job.get("cpu_time", 0.0), job.get("max_rss", 0.0)
            if name in stated:
                own = stated[name].attributes
                cpu_s, peak_mib = own.get("cpu_s", cpu_s), own.get("peak_memory_mib", peak_mib)
            jobs.setdefault(_RULES.get(name, "run_case"), []).append((job.get("s", 0.0), cpu_s, peak_mib))
        for rule, found in sorted(jobs.items(), key=lambda item: item[0] != "run_case"):
            wall, cpu, memory = zip(*found, strict=True)
            out.append(RuleCost(study, rule, len(found), sum(wall), sum(cpu), max(memory)))
    return out


def _benchmark(path: Path) -> dict[str, float]:
    """What is a number in the record of a job, which may be cut short."""
    if not path.is_file():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file, delimiter="\t"), {})
    numbers = {key: number(value) for key, value in row.items()}
    return {key: value for key, value in numbers.items() if not math.isnan(value)}
