"""The check of mutations on a small project of its own: what counts as caught and what does not."""

from pathlib import Path

import pytest

from tests.mutants.__main__ import main
from tests.mutants.mutation import SourceMutation, WrappedMutation
from tests.mutants.runner import Notice, Verdict, check_all, judge_harmless, judge_source, judge_wrapped
from tests.mutants.table import entries, page, read_page, rows_of, terminal_table
from tests.mutants.workspace import Outcome, Workspace, matches, outcomes_of

MODULE = "def half(x):\n    return x / 2.0\n"
TESTS = """
import pytest

from auxmc.kernels.small import half


@pytest.mark.parametrize("x", [0.0, 3.0])
def test_half(x):
    assert half(x) == 0.5 * x


def test_message():
    assert half(2.0) == 1.5, "not half"


def test_raises():
    with pytest.raises(ValueError):
        half(1.0)


def test_crash():
    half("a")


@pytest.fixture
def broken():
    raise AssertionError("in a fixture")


def test_fixture(broken):
    pass


def test_skipped():
    pytest.skip("not here")


def test_notes(record_property):
    record_property("noticed", "height: far off")
"""
FILE = "tests/test_small.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    package = root / "src" / "auxmc" / "kernels"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package / "small.py").write_text(MODULE)
    (root / "tests").mkdir()
    (root / FILE).write_text(TESTS)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    return root


@pytest.fixture(scope="module")
def workspace(project: Path) -> Workspace:
    return Workspace(project.parent / "copy", project)


def mutation(old: str, new: str, *tests: str, harmless: bool = False) -> SourceMutation:
    ids = {f"L{i}": f"{FILE}::{test}" for i, test in enumerate(tests, start=1)}
    return SourceMutation("small", "a change", "kernels/small.py", ((old, new),), ids, harmless)


def test_only_an_assertion_that_fails_counts_as_failing(workspace: Workspace) -> None:
    outcomes = {outcome.name.partition("::")[2]: outcome for outcome in workspace.run([FILE])}
    kinds = {name: outcome.kind for name, outcome in outcomes.items()}
    assert kinds == {
        "test_half[0.0]": "passed",
        "test_half[3.0]": "passed",
        "test_message": "failed",
        "test_raises": "failed",
        "test_crash": "broke",
        "test_fixture": "broke",
        "test_skipped": "broke",
        "test_notes": "passed",
    }
    assert outcomes["test_message"].message == "AssertionError: not half"
    assert "DID NOT RAISE" in outcomes["test_raises"].message
    assert outcomes["test_crash"].message.startswith("TypeError")
    assert outcomes["test_notes"].noted == "height: far off"


def test_a_skip_without_a_reason_is_no_outcome_of_a_test(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text('<r><testcase classname="a" name="test_b"><skipped message=""/></testcase></r>')
    assert outcomes_of(report) == [Outcome("a.py::test_b", "broke", "skipped: no reason given")]


def test_a_module_that_cannot_be_imported_is_an_error_and_is_taken_back(workspace: Workspace) -> None:
    with pytest.raises(RuntimeError, match="pytest ended with status"):
        workspace.run_mutated(mutation("def half(x):", "def half(x:", "test_half"))
    assert (workspace.folder / "src" / "auxmc" / "kernels" / "small.py").read_text() == MODULE


@pytest.mark.slow
def test_mutations_are_judged_beside_tests_without_any(project: Path) -> None:
    cases = {
        "caught": mutation("x / 2.0", "x / 3.0", "test_half", "test_half[3.0]"),
        "another text": mutation("x / 4.0", "x / 3.0", "test_half"),
        "never right": mutation("x / 9.0", "x / 3.0", "test_message"),
        "no test": mutation("x / 9.0", "x / 3.0", "test_triple"),
    }
    lines: list[str] = []
    caught, other, never, missing = check_all(cases, {}, 2, lines.append, project)
    assert caught.problem == ""
    assert [notice.layer for notice in caught.notices] == ["L1", "L2"]
    assert caught.notices[0].test == f"{FILE}::test_half[3.0]"
    assert "the text occurs 0 times, not once: 'x / 4.0'" in other.problem
    assert f"fails without any mutation: {FILE}::test_message failed: AssertionError" in never.problem
    assert missing.problem == f"fails without any mutation: {FILE}::test_triple did not run"
    assert lines[0].startswith("[1/1] without mutation: 2 of 4 tests pass")
    assert sum("caught by L1 L2: caught" in line for line in lines) == 1
    assert sum("NOT CAUGHT: " in line for line in lines) == 3


def case(name: str, kind: str, message: str = "") -> Outcome:
    return Outcome(f"{FILE}::{name}", kind, message)


def test_every_named_test_must_fail() -> None:
    both = mutation("a", "b", "test_half", "test_crash")
    failed, passed = case("test_half[3.0]", "failed", "assert 1"), case("test_crash", "passed")
    notices, problem = judge_source(both, [case("test_half[0.0]", "passed"), failed, passed])
    assert notices == (Notice("L1", failed.name, "assert 1"),)
    assert problem == f"{FILE}::test_crash passed"
    _, problem = judge_source(both, [failed, case("test_crash", "broke", "NameError: x")])
    assert problem == f"{FILE}::test_crash broke in place of failing: NameError: x"
    assert judge_source(both, [failed])[1] == f"{FILE}::test_crash did not run"


def test_every_named_test_of_a_harmless_change_must_pass() -> None:
    change = mutation("a", "b", "test_half", harmless=True)
    good, bad = case("test_half[0.0]", "passed"), case("test_half[3.0]", "failed", "assert 1")
    assert judge_harmless(change, [good]) == ((), "")
    assert judge_harmless(change, [good, bad]) == ((), f"{FILE}::test_half[3.0] failed: assert 1")
    assert judge_harmless(change, [])[1].endswith("did not run")


def test_a_wrapped_mutation_is_caught_where_its_test_passes() -> None:
    broken = WrappedMutation("slice", "", "L4", lambda stream: None)
    test = "tests/statistical/test_mutants.py::test_mutant_is_noticed[a]"
    notices, problem = judge_wrapped("a", broken, [Outcome(test, "passed", "", "height: far off")])
    assert (notices, problem) == ((Notice("L4", test, "height: far off"),), "")
    assert judge_wrapped("a", broken, [Outcome(test, "failed", "DID NOT RAISE")])[1].endswith("RAISE")
    assert judge_wrapped("a", broken, [])[1].endswith("did not run")


def test_tests_without_an_end_are_stopped(project: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "copy", project, time_limit_s=0.05)
    with pytest.raises(RuntimeError, match=r"no end after 0\.05 s"):
        workspace.run([FILE])


def test_ids_without_brackets_stand_for_all_cases() -> None:
    assert matches("a.py::test_x[1]", "a.py::test_x")
    assert matches("a.py::test_x", "a.py::test_x")
    assert not matches("a.py::test_xy", "a.py::test_x")
    assert not matches("a.py::test_x[1]", "a.py::test_x[2]")


def verdict(name: str, harmless: bool = False, problem: str = "") -> Verdict:
    notices = () if harmless or problem else (Notice("L5", f"{FILE}::test_law", "assert 1"),)
    return Verdict(name, "small", "a change", harmless, ("L1",), notices, problem, 2.4)


def test_a_page_lists_what_was_checked() -> None:
    named = {
        "first": mutation("a", "b", "test_half"),
        "right": mutation("a", "b", "test_half", harmless=True),
    }
    rows = rows_of([verdict("first"), verdict("right", harmless=True)])
    text = page(rows)
    assert read_page(text) == rows
    assert [row.entry for row in rows] == entries(named, {})
    assert "| `first` | L1 | a change | `test_small.py::test_law` | 2 |" in text
    assert "There are 1 mutations" in text


def test_a_table_counts_what_was_caught() -> None:
    table = terminal_table(
        [verdict("first"), verdict("second", problem="passed"), verdict("right", harmless=True)]
    )
    assert "1 of 2 mutations are caught; 1 of 3 lines are bad." in table
    assert "NO: passed" in table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--jobs", "0"], "--jobs must be at least 1, got 0"),
        (["--only", "no such thing"], "no mutation has a component and name like 'no such thing'"),
    ],
)
def test_wrong_options_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err


def test_mutations_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "constrained_hmc gram", "--list"]) == 0
    assert capsys.readouterr().out.startswith("constrained_hmc")
