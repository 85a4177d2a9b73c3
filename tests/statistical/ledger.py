"""Allowances of stochastic assertions, what has been used of them, and a row in a report for each.

Two budgets, each for one run: that of the tests of every change (`DECLARED`) and that of the deeper part
(`DEEP`), which `make test-statistical` runs as well.
"""

import contextlib
import csv
import os
import time
from collections import Counter
from pathlib import Path

__all__ = [
    "ALPHA",
    "COLUMNS",
    "DECLARED",
    "DEEP",
    "TOTAL_LEVEL",
    "begin",
    "charging",
    "current_test",
    "record",
    "seed_of_the_run",
]

ALPHA = 1e-7
"""False-alarm level of one assertion."""

TOTAL_LEVEL = 1e-4
"""False-alarm level of a whole run of either part."""

DECLARED = {
    "test_abc_posteriors.py": 22,
    "test_broken_kernels.py": 6,
    "test_conjugate_posteriors.py": 10,
    "test_constrained_invariance.py": 40,
    "test_density_registry.py": 22,
    "test_direct_sampling.py": 25,
    "test_evidence_estimators.py": 42,
    "test_foundation_kernels.py": 74,
    "test_generator_draws.py": 35,
    "test_input_space_kernels.py": 23,
    "test_irreversible_steps.py": 11,
    "test_joint_laws.py": 32,
    "test_kernel_invariance.py": 320,
    "test_latent_chains.py": 10,
    "test_latent_estimates.py": 38,
    "test_levels.py": 10,
    "test_nested_replacements.py": 11,
    "test_nuts_invariance.py": 6,
    "test_precision.py": 4,
    "test_reference_samplers.py": 10,
    "test_row_evidence.py": 32,
    "test_row_moves.py": 7,
    "test_row_reservoir.py": 4,
    "test_simulated_priors.py": 18,
    "test_slice_blocks.py": 10,
    "test_stationary_laws.py": 55,
    "test_tempering.py": 41,
}
"""Largest number of assertions, each of level ALPHA, that each test file makes."""

DEEP = {
    "deep_calibration.py": 22,
    "deep_invariance.py": 46,
    "deep_joint_laws.py": 4,
    "deep_rank_tests.py": 7,
}
"""The same of the files of the deeper part, whose budget is its own."""

COLUMNS = [
    "test",
    "component",
    "layer",
    "seed",
    "label",
    "rule",
    "n",
    "statistic",
    "threshold",
    "alpha",
    "detects",
    "seconds",
]
"""Columns of the report: `seed` is the text that entered all seeds of the run, `n` has a number a stage."""

charging = True
"""Whether assertions are charged: not those on a program known to be wrong."""

_charged: Counter[str] = Counter()
_cells: list[tuple[str, str]] = []
_since = time.monotonic()


def seed_of_the_run() -> str:
    """Text that enters all seeds of this run: empty for the numbers that every run shares."""
    return os.environ.get("AUXMC_STATISTICAL_SEED", "")


def current_test() -> str:
    """Address of the test that runs, empty outside of tests."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]


def begin(cells: list[tuple[str, str]]) -> None:
    """Notes that a test begins that tests these (component, layer)."""
    global _cells, _since
    _cells, _since = cells, time.monotonic()


def record(
    label: str,
    rule: str,
    n: int | list[int],
    statistic: float,
    threshold: float,
    alpha: float,
    detects: float,
) -> None:
    """Charges an assertion to the allowance of its file and writes its row of the report.

    Raises:
        ValueError: the file has no allowance, or has used it up, or the level is above that of one assertion.
    """
    if not charging:
        return
    test = current_test()
    _charge(Path(test.split("::")[0]).name, alpha)
    components, layers = (" ".join(dict.fromkeys(cell[i] for cell in _cells)) for i in (0, 1))
    sizes = " ".join(map(str, n)) if isinstance(n, list) else n
    numbers = [f"{statistic:.6g}", f"{threshold:.6g}", alpha, detects, f"{time.monotonic() - _since:.2f}"]
    _report([test, components, layers, seed_of_the_run(), label, rule, sizes, *numbers])


def _charge(name: str, alpha: float) -> None:
    allowance = DECLARED | DEEP
    if name not in allowance:
        raise ValueError(
            f"{name or 'this file'} has no allowance of stochastic assertions: declare it in ledger.py"
        )
    if alpha > ALPHA:
        raise ValueError(f"level {alpha:g} exceeds the declared {ALPHA:g} of one assertion")
    _charged[name] += 1
    if _charged[name] > allowance[name]:
        raise ValueError(f"{name} makes more than its {allowance[name]} declared stochastic assertions")


def _report(row: list[object]) -> None:
    target = os.environ.get("AUXMC_STATISTICAL_REPORT")
    if target is None:
        return
    path = Path(target)
    # Another process may have made the file in the meantime.
    with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(COLUMNS)
    with path.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(row)
