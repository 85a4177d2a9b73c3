"""Plain lines that read well in a file, and a table for terminals."""

import io

import pytest

from auxmc.command_line.stream_display import ModelStatus, Status, describe_change, make_display
from auxmc.command_line.stream_record import Standing
from auxmc.diagnostics.change_points import ChangePoint

STATUS = Status(
    4000,
    16_000,
    50.0,
    [
        ModelStatus("linear", Standing(-5000.25, 0.12, 0.0, 0.0, 0.75), 1.5),
        ModelStatus("mixture components=2", Standing(-5001.0, float("nan"), -0.75, 0.3, 0.25), 3.0),
    ],
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_aligned_and_say_how_long_it_takes() -> None:
    file = io.StringIO()
    display = make_display(0.0, file)
    display.show(STATUS)
    display.say("something")
    display.show(STATUS._replace(n_rows=16_000), last=True)
    display.close()
    lines = file.getvalue().splitlines()
    assert lines[3] == "# 50 rows/s, 25 % of 16,000 rows, about 4.0 min left"
    assert lines[4] == "# something"
    assert "-5000.25 +- 0.12" in lines[1]
    assert "-5001.00 +- ?" in lines[2]
    assert "-0.75 +- 0.30" in lines[2]
    # Every column ends at one place.
    for line, number in ((lines[1], "-1.25006"), (lines[2], "-1.25025"), (lines[0], "a row")):
        assert line.index(number) + len(number) == lines[0].index("a row") + len("a row")
    assert len(lines) == 7


def test_lines_wait_for_their_interval_but_the_last_one_does_not() -> None:
    file = io.StringIO()
    display = make_display(3600.0, file)
    for _ in range(5):
        display.show(STATUS)
    display.show(STATUS, last=True)
    assert sum(line.startswith("#") for line in file.getvalue().splitlines()) == 1
    assert len(file.getvalue().splitlines()) == 6


def test_errors_say_how_many_digits_count() -> None:
    file = io.StringIO()
    model = ModelStatus("linear", Standing(-5000.25, 25.0, -0.0123, 0.0045, 0.5), 1.0)
    make_display(0.0, file).show(STATUS._replace(models=[model]))
    assert "  -5000 +- 25  " in file.getvalue()
    assert "  -0.0123 +- 0.0045  " in file.getvalue()


def test_the_number_of_rows_need_not_be_known() -> None:
    file = io.StringIO()
    make_display(0.0, file).show(STATUS._replace(total_rows=None))
    assert file.getvalue().splitlines()[-1] == "# 50 rows/s"


def test_a_terminal_has_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    file = Terminal()
    display = make_display(0.0, file)
    display.show(STATUS)
    display.say("something")
    display.show(STATUS, last=True)
    display.close()
    for text in ("4,000 rows", "-5000.25", "mixture components=2", "something"):
        assert text in file.getvalue()


def test_changes_read_as_a_sentence() -> None:
    change = ChangePoint(7, 701, 800, -3.5, -3.0, 9.04, "jump")
    assert describe_change("linear", change) == (
        "change point: rows 701 to 800, model linear: -3.500 nats a row where -3.000 were expected (sudden drop, 9.0 "
        "standard deviations)"
    )
    assert "(lasting drop)" in describe_change("linear", change._replace(kind="drift", size=float("inf")))
