"""Makes each mutation in a copy of the project, runs the tests that must notice it, and judges what they say."""

import queue
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tests.copies import ROOT
from tests.mutants.mutation import SourceMutation, WrappedMutation
from tests.mutants.workspace import Outcome, Workspace, matches

__all__ = [
    "Notice",
    "Verdict",
    "check_all",
    "judge_harmless",
    "judge_source",
    "judge_wrapped",
    "tests_of_wrapped",
]

_WRAPPED_TESTS = "tests/statistical/test_mutants.py"
_FILES_A_BATCH = 6
_WRAPPED_A_BATCH = 12
_VALID_SLICE = f"{_WRAPPED_TESTS}::test_rejection_in_the_bracket_without_shrinking_is_valid"

VALID_SLICE = SourceMutation(
    "slice",
    "rejection in the bracket, which is never shrunk: slower, but valid",
    "",
    (),
    {"L5": _VALID_SLICE},
    harmless=True,
)
"""A wrapped kernel that is unusual and right."""


class Notice(NamedTuple):
    """That a layer noticed.

    Attributes:
        layer: such as "L5".
        test: node id of the test that failed, or of the one that expected the failure of a wrapped kernel.
        message: what it said.
    """

    layer: str
    test: str
    message: str


class Verdict(NamedTuple):
    """What became of a mutation.

    Attributes:
        name: of the mutation.
        component: what is broken.
        what: what is wrong with it.
        harmless: whether nothing must notice.
        layers: layers that were to notice, or, if harmless, to pass.
        notices: what noticed.
        problem: why it does not count as caught, or, if harmless, as passed; empty if it does.
        seconds: wall time.
    """

    name: str
    component: str
    what: str
    harmless: bool
    layers: tuple[str, ...]
    notices: tuple[Notice, ...]
    problem: str
    seconds: float


def tests_of_wrapped(name: str) -> str:
    """Node id of the test of a wrapped mutation."""
    return f"{_WRAPPED_TESTS}::test_mutant_is_noticed[{name}]"


def judge_source(mutation: SourceMutation, outcomes: Iterable[Outcome]) -> tuple[tuple[Notice, ...], str]:
    """What noticed a mutation of the source, and why it is not caught if a test that must notice did not."""
    cases, notices, problems = list(outcomes), [], []
    for layer, test in mutation.tests.items():
        of_test = [case for case in cases if matches(case.name, test)]
        failed = next((case for case in of_test if case.kind == "failed"), None)
        broke = next((case for case in of_test if case.kind == "broke"), None)
        if failed is not None:
            notices.append(Notice(layer, failed.name, failed.message))
        elif broke is not None:
            problems.append(f"{broke.name} broke in place of failing: {broke.message}")
        else:
            problems.append(f"{test} {'passed' if of_test else 'did not run'}")
    return tuple(notices), "; ".join(problems)


def judge_harmless(mutation: SourceMutation, outcomes: Iterable[Outcome]) -> tuple[tuple[Notice, ...], str]:
    """Nothing, and why a harmless change does not count as passed."""
    cases, problems = list(outcomes), []
    for test in mutation.tests.values():
        of_test = [case for case in cases if matches(case.name, test)]
        wrong = next((case for case in of_test if case.kind != "passed"), None)
        if wrong is not None:
            problems.append(f"{wrong.name} {wrong.kind}: {wrong.message}")
        elif not of_test:
            problems.append(f"{test} did not run")
    return (), "; ".join(problems)


def judge_wrapped(
    name: str, mutation: WrappedMutation, outcomes: Iterable[Outcome]
) -> tuple[tuple[Notice, ...], str]:
    """What noticed a wrapped mutation: its test passes where the layer fails."""
    test = tests_of_wrapped(name)
    case = next((case for case in outcomes if case.name == test), None)
    if case is None:
        return (), f"{test} did not run"
    if case.kind != "passed":
        return (), f"{test} {case.kind}: {case.message}"
    return (Notice(mutation.layer, test, case.noted),), ""


def check_all(
    source: Mapping[str, SourceMutation],
    wrapped: Mapping[str, WrappedMutation],
    jobs: int,
    report: Callable[[str], None],
    root: Path = ROOT,
) -> list[Verdict]:
    """Checks mutations, after the tests named by those of the source have passed without any.

    Args:
        source: mutations of the source by name.
        wrapped: wrapped mutations by name.
        jobs: copies in which tests run side by side.
        report: told of each step, one line.
        root: the project.

    Returns:
        A verdict for each, in the order of the arguments, the source first.
    """
    with tempfile.TemporaryDirectory(prefix="mutations") as folder:
        free: queue.SimpleQueue[Workspace] = queue.SimpleQueue()
        for number in range(jobs):
            free.put(Workspace(Path(folder) / str(number), root))

        def run(action: _Action) -> _Run:
            workspace, begin = free.get(), time.monotonic()
            try:
                return _Run(action(workspace), "", time.monotonic() - begin)
            except RuntimeError as error:
                return _Run([], str(error), time.monotonic() - begin)
            finally:
                free.put(workspace)

        with ThreadPoolExecutor(jobs) as pool:
            broken = _failed_controls(source, pool, run, report)
            waiting: dict[Future[_Run], Callable[[_Run], list[Verdict]]] = {}
            for name, mutation in source.items():
                judge = partial(_source_verdict, name, mutation, broken)
                waiting[pool.submit(run, partial(Workspace.run_mutated, mutation=mutation))] = judge
            for batch in _wrapped_batches(wrapped):
                tests = [tests_of_wrapped(name) for name in batch]
                judge = partial(_wrapped_verdicts, batch)
                waiting[pool.submit(run, partial(Workspace.run, tests=tests))] = judge
            verdicts: dict[str, Verdict] = {}
            for done in as_completed(waiting):
                for verdict in waiting[done](done.result()):
                    verdicts[verdict.name] = verdict
                    report(f"[{len(verdicts)}/{len(source) + len(wrapped)}] {_in_words(verdict)}")
    return [verdicts[name] for name in (*source, *wrapped)]


_Action = Callable[[Workspace], list[Outcome]]


class _Run(NamedTuple):
    outcomes: list[Outcome]
    error: str
    seconds: float


def _source_verdict(
    name: str, mutation: SourceMutation, broken: Mapping[str, str], run: _Run
) -> list[Verdict]:
    notices, problem = (judge_harmless if mutation.harmless else judge_source)(mutation, run.outcomes)
    control = "; ".join(broken[test] for test in mutation.tests.values() if test in broken)
    if control:
        notices, problem = (), f"fails without any mutation: {control}"
    elif run.error:
        notices, problem = (), run.error
    layers = tuple(mutation.tests)
    return [
        Verdict(
            name, mutation.component, mutation.what, mutation.harmless, layers, notices, problem, run.seconds
        )
    ]


def _wrapped_verdicts(batch: Mapping[str, WrappedMutation], run: _Run) -> list[Verdict]:
    verdicts = []
    for name, mutation in batch.items():
        notices, problem = judge_wrapped(name, mutation, run.outcomes)
        if run.error:
            notices, problem = (), run.error
        seconds = sum(case.seconds for case in run.outcomes if case.name == tests_of_wrapped(name))
        layers = (mutation.layer,)
        verdicts.append(
            Verdict(name, mutation.component, mutation.what, False, layers, notices, problem, seconds)
        )
    return verdicts


def _wrapped_batches(wrapped: Mapping[str, WrappedMutation]) -> Iterator[dict[str, WrappedMutation]]:
    """They change no file, so that several can be checked in one run."""
    left = iter(wrapped.items())
    while batch := dict(islice(left, _WRAPPED_A_BATCH)):
        yield batch


def _in_batches(tests: Iterable[str]) -> list[list[str]]:
    """Tests in the order of their files, a few files together: starting is most of the time of a short run."""
    ordered = sorted(dict.fromkeys(tests), key=lambda test: test.split("::")[0])
    files = list(dict.fromkeys(test.split("::")[0] for test in ordered))
    batches: list[list[str]] = [[] for _ in range(-(-len(files) // _FILES_A_BATCH))]
    for test in ordered:
        batches[files.index(test.split("::")[0]) // _FILES_A_BATCH].append(test)
    return batches


def _run_apart(workspace: Workspace, tests: list[str]) -> list[Outcome]:
    """Runs tests together, or, where one that is not there stops them all, one by one."""
    try:
        return workspace.run(tests)
    except RuntimeError:
        if len(tests) == 1:
            raise
    outcomes: list[Outcome] = []
    for test in tests:
        with suppress(RuntimeError):
            outcomes += workspace.run([test])
    return outcomes


def _failed_controls(
    source: Mapping[str, SourceMutation],
    pool: ThreadPoolExecutor,
    run: Callable[[_Action], _Run],
    report: Callable[[str], None],
) -> dict[str, str]:
    """Tests that fail without any mutation, and what they say."""
    batches = _in_batches(test for mutation in source.values() for test in mutation.tests.values())
    waiting = {pool.submit(run, partial(_run_apart, tests=tests)): tests for tests in batches}
    failed: dict[str, str] = {}
    for number, done in enumerate(as_completed(waiting), start=1):
        tests, (outcomes, error, seconds) = waiting[done], done.result()
        for test in tests:
            cases = [case for case in outcomes if matches(case.name, test)]
            wrong = next((case for case in cases if case.kind != "passed"), None)
            if wrong is not None:
                failed[test] = f"{wrong.name} {wrong.kind}: {wrong.message}"
            elif not cases:
                failed[test] = f"{test} did not run{f': {error}' if error else ''}"
        passed = f"{sum(test not in failed for test in tests)} of {len(tests)}"
        report(f"[{number}/{len(batches)}] without mutation: {passed} tests pass, {seconds:.0f} s")
    return failed


def _in_words(verdict: Verdict) -> str:
    if verdict.problem:
        return f"NOT {'PASSED' if verdict.harmless else 'CAUGHT'}: {verdict.name}: {verdict.problem}"
    if verdict.harmless:
        return f"passed, as it must: {verdict.name}, {verdict.seconds:.0f} s"
    layers = " ".join(notice.layer for notice in verdict.notices)
    return f"caught by {layers}: {verdict.name}, {verdict.seconds:.0f} s"
