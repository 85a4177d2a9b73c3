"""Changes that are made by machine: which there are, which tests are asked first, and what counts as noticed."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.copies import ROOT
from tests.mutants.generated.__main__ import in_order, main
from tests.mutants.generated.changes import OPERATORS, Change, changed_text, changes_of
from tests.mutants.generated.check import Result
from tests.mutants.generated.children import record_entered
from tests.mutants.generated.nearest import nearest_tests, targets
from tests.mutants.generated.results import (
    Row,
    merged,
    read_harmless,
    read_rows,
    row_of,
    section,
    write_rows,
)
from tests.mutants.table import read_page


def changes(text: str) -> set[tuple[str, str]]:
    """Kind of each change and the line that it makes."""
    return {(change.operator, change.after) for change in changes_of("m.py", textwrap.dedent(text))}


@pytest.mark.parametrize(
    ("line", "operator", "expected"),
    [
        ("y = a + b", "arithmetic", {"y = a - b"}),
        ("y = a / b", "arithmetic", {"y = a * b"}),
        ("y = -a", "sign", {"y = a"}),
        ("y = not a", "sign", {"y = a"}),
        ("y = ~a", "sign", {"y = a"}),
        ("y = a < b", "comparison", {"y = a >= b"}),
        ("y = n_rows < b", "comparison", {"y = n_rows <= b", "y = n_rows >= b"}),
        ("y = a is None", "comparison", {"y = a is not None"}),
        ("y = a and b", "logic", {"y = a or b"}),
        (
            "y = f(2, 0.5, True)",
            "number",
            {"y = f(3, 0.5, True)", "y = f(2, 1.5, True)", "y = f(2, 0.5, False)"},
        ),
        ("y = jnp.sum(a)", "function", {"y = jnp.mean(a)"}),
        ("y = jnp.exp(a)", "function", {"y = (a)"}),
        ("y = np.median(a)", "function", {"y = np.mean(a)"}),
        ("y = jnp.where(a, (b + 1), c)", "branches", {"y = jnp.where(a, (c), b + 1)"}),
        ("y = lax.cond(a, left, right, x)", "branches", {"y = lax.cond(a, right, left, x)"}),
        ("y = b if a else c", "branches", {"y = c if a else b"}),
        ("y = s._replace(p=-p, q=r)", "left out", {"y = s._replace(q=r)", "y = s._replace(p=-p)"}),
        ("y = jnp.sum(a, axis=1)", "left out", {"y = jnp.sum(a)"}),
    ],
)
def test_each_kind_of_change(line: str, operator: str, expected: set[str]) -> None:
    assert {after for kind, after in changes(f"{line}\n") if kind == operator} == expected


def test_statements_are_left_out_where_the_rest_still_runs() -> None:
    text = """
        def f(x, seen):
            seen.append(x)
            x = x - y
            z = x
            z += y
            return z
    """
    left_out = {
        change.before for change in changes_of("m.py", textwrap.dedent(text)) if change.after == "pass"
    }
    assert left_out == {"seen.append(x)", "x = x - y", "z += y"}


@pytest.mark.parametrize(
    "text",
    [
        '"""One of 3 words, not 4."""\n',
        "def f(x: Annotated[int, 3]) -> Literal[1]: ...\n",
        "@partial(jax.jit, static_argnums=(0, 1))\ndef f(x): ...\n",
        "def f(x):\n    raise ValueError(f'{x + 1} of {-x}' % (3 * x))\n",
        "def f(x):\n    warnings.warn('so ' + str(x + 1), stacklevel=2)\n",
        "def f(x):\n    text = f'{x - 1:.3f}' 'and more'\n",
        "Pair = tuple[int, int] | None\n",
        "def f(key):\n    return jax.random.fold_in(key, 3)\n",
        "def f(a, b):\n    return zip(a, b, strict=True)\n",
        "__all__ = ['f', 'g']\n",
    ],
)
def test_what_no_test_should_notice_is_not_changed(text: str) -> None:
    assert changes_of("m.py", text) == []


def test_every_change_of_the_project_compiles_and_keeps_its_lines() -> None:
    seen: set[str] = set()
    names: list[str] = []
    for module in targets(ROOT)[::10]:
        text = (ROOT / module).read_text()
        for change in changes_of(module, text):
            changed = changed_text(text, change)
            compile(changed, module, "exec")
            assert changed.count("\n") == text.count("\n"), change
            assert changed != text
            seen.add(change.operator)
            names.append(change.name)
    assert len(names) == len(set(names)) > 300
    assert seen == set(OPERATORS)


def test_the_errors_that_once_passed_every_test_are_among_the_changes() -> None:
    """The momentum that is kept after a rejection without being reversed: of the control, of the position."""
    found = {
        (module, change.after)
        for module in ("continuous_tempering", "tempered_move")
        for path in [f"src/auxmc/kernels/tempering/{module}.py"]
        for change in changes_of(path, (ROOT / path).read_text())
        if change.operator == "sign" and "_replace(momentum=" in change.before
    }
    assert {
        (
            "continuous_tempering",
            "kept = ControlledState(start.move._replace(momentum=-momentum), state.control, control_momentum)",
        ),
        ("tempered_move", "kept = state._replace(momentum=momentum)"),
    } <= found


def test_another_line_changes_neither_names_nor_order() -> None:
    text = "def f(x):\n    return x + 1\n\n\ndef g(x):\n    return x - 2 * x\n"
    before, after = changes_of("m.py", text), changes_of("m.py", f"import math\n\n{text}")
    assert {change.name for change in before} == {change.name for change in after}
    assert [c.name for c in in_order(before, "a")] == [c.name for c in in_order(after[::-1], "a")]
    assert [c.name for c in in_order(before, "a")] != [c.name for c in in_order(before, "b")]


def test_the_nearest_tests_come_first() -> None:
    module = "src/auxmc/kernels/tempering/continuous_tempering.py"
    found = nearest_tests(ROOT, module)
    assert found[0] == module, "it has examples"
    assert "tests/unit/kernels/tempering/test_control_momentum.py" in found[1:3]
    assert found.index("tests/statistical/test_tempering.py") < found.index(
        "tests/unit/interface/test_evidence.py"
    )
    assert not any(path.startswith(("tests/unit/project", "tests/unit/mutants")) for path in found)
    without_examples = "src/auxmc/kernels/tempering/tempered_move.py"
    assert without_examples not in nearest_tests(ROOT, without_examples)


def test_functions_note_that_they_were_entered() -> None:
    text = textwrap.dedent(
        '''
        """About."""
        from __future__ import annotations
        def f(x):
            """Doc."""
            def g():
                return x
            return g()
        '''
    )
    names: dict[str, object] = {}
    exec(record_entered("m.py", text), names)
    assert names["f"](3) == 3  # type: ignore[operator]
    notes = names["_entered"]
    assert isinstance(notes, set)
    assert {note for note in notes if note.startswith("m.py")} == {"m.py:f", "m.py:f.g"}
    assert names["f"].__doc__ == "Doc."


PROJECT = {
    "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow: not run']\n",
    "src/auxmc/__init__.py": "",
    "src/auxmc_pipeline/claims.py": "",
    "src/auxmc_pipeline/error_rules.py": "",
    "src/auxmc/kernels/__init__.py": "",
    "src/auxmc/kernels/small.py": """
        def half(x):
            return x / 2.0


        def unused(x):
            return x + 1


        def forever(n):
            while n != 0:
                n = n - 1
            return n
    """,
    "tests/unit/test_small.py": """
        import ast
        from pathlib import Path

        import pytest

        import auxmc.kernels.small as small


        def test_text():
            assert "entered" not in Path(small.__file__).read_text()


        def test_half():
            assert small.half(3.0) == 1.5


        @pytest.mark.slow
        def test_slow():
            assert small.unused(1) == 2


        def test_forever():
            assert small.forever(3) == 0
    """,
    "tests/unit/test_other.py": """
        from auxmc.kernels.small import half


        def test_half_of_none():
            assert half(0.0) == 0.0
    """,
}
SCRIPT = """
import sys
from pathlib import Path
from tests.mutants.generated.changes import changes_of
from tests.mutants.generated.check import Checker

root = Path(sys.argv[1])
module = "src/auxmc/kernels/small.py"
checker = Checker(root.parent / "copy", root, file_limit_s=4.0)
for change in changes_of(module, (root / module).read_text()):
    if change.operator == "arithmetic":
        found = checker.check(change)
        print(change.after, found.outcome, found.how, found.by, found.asked, found.nearest, sep="; ")
"""


@pytest.mark.slow
def test_changes_of_a_small_project_are_judged(tmp_path: Path) -> None:
    for path, text in PROJECT.items():
        target = tmp_path / "project" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "project")], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [
        # One test fails in every copy, since it reads the text: it does not count.
        "return x * 2.0; killed; failed; tests/unit/test_small.py::test_half; 2; 2",
        "return x - 1; survived; ; ; 2; 2",
        "n = n + 1; no end; no end; tests/unit/test_small.py; 2; 2",
    ], done.stderr


CHANGE = Change("src/auxmc/kernels/small.py", "f", 3, "sign", "y = -x | z", "y = x | z", 0, 10, 11, "")
LINES = (
    row_of(Result(CHANGE, "survived", "", "", 2, 5, 1.25)),
    row_of(
        Result(
            CHANGE._replace(after="y = 1"), "killed", "tests/unit/test_small.py::test_f", "failed", 1, 5, 0.5
        )
    ),
)


def test_results_are_kept_while_their_change_is_there(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    write_rows(LINES, path)
    assert sorted(read_rows(path)) == sorted(LINES)
    assert read_rows(tmp_path / "none.csv") == []
    moved = CHANGE._replace(line=9)
    assert merged(LINES, [], {moved.name: moved}) == [LINES[0]._replace(line="9")]
    newer = LINES[0]._replace(outcome="killed")
    assert merged(LINES, [newer], {CHANGE.name: CHANGE}) == [newer]


def test_the_page_gives_a_reason_for_each_survivor() -> None:
    text = section(LINES, {}, 40)
    assert "The source allows 40 changes" in text
    assert "| kernels | 2 | 1 | 0 | 1 |" in text
    assert r"| kernels/small.py:3 | `y = -x \| z` → `y = x \| z` | **unexplained** |" in text
    explained = section(LINES, {LINES[0].name: "A reason."}, 40)
    assert "| kernels | 2 | 1 | 1 | 0 |" in explained
    assert "A reason. |" in explained
    assert read_page(text) == [], "it adds no row to the catalogue of the same page"


def test_reasons_belong_to_survivors() -> None:
    survivors = {row.name for row in read_rows() if row.outcome == "survived"}
    assert read_harmless().keys() <= survivors, "an entry of harmless.toml names no change that survived"


@pytest.mark.parametrize(
    ("reason", "times", "message"),
    [("' '", 1, "no reason is given for 'y = x' in m.py"), ("'so'", 2, "two entries for 'y = x' in m.py")],
)
def test_entries_without_a_reason_are_refused(tmp_path: Path, reason: str, times: int, message: str) -> None:
    keys = "module = 'm.py'\nfunction = 'f'\noperator = 'sign'\nbefore = 'y = -x'\nafter = 'y = x'\n"
    (tmp_path / "harmless.toml").write_text(f"[[harmless]]\n{keys}reason = {reason}\n" * times)
    with pytest.raises(ValueError, match=rf"harmless\.toml: {message}"):
        read_harmless(tmp_path / "harmless.toml")


def test_the_page_has_the_kept_results() -> None:
    rows: list[Row] = read_rows()
    page = (ROOT / "docs" / "mutations.md").read_text()
    assert f"{len(rows)} of them, drawn by seed, have been tried" in page
    for row in rows:
        if row.outcome == "survived":
            assert row.before.replace("|", r"\|") in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sample", "0"], "--sample must be above 0, got 0"),
        (["--minutes", "-1"], "--minutes must be above 0, got -1"),
        ([], "say how many changes to try"),
    ],
)
def test_wrong_options_of_the_machine_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err
