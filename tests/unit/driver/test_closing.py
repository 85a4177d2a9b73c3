"""A file that HDF5 cannot close is a line, any other error of an object that is let go is Python's."""

import sys
import types

import pytest

from auxmc.driver.files.closing import second_errors_in_one_line


def ignored(error: BaseException, where: str) -> types.SimpleNamespace:
    return types.SimpleNamespace(exc_value=error, object=where)


def test_the_second_error_of_a_file_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", others.append)
    full = OSError("[Errno 28] Driver write request failed (No space left on device\n, filename = 'x')")
    foreign = ignored(full, "another.package.__dealloc__")
    with second_errors_in_one_line():
        sys.unraisablehook(ignored(full, "h5py._objects.ObjectID.__dealloc__"))  # type: ignore[arg-type]
        sys.unraisablehook(foreign)  # type: ignore[arg-type]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "could not be closed either: [Errno 28] Driver write request failed" in said
    assert others == [foreign]
    assert sys.unraisablehook == others.append


@pytest.mark.parametrize(("file", "printed"), [("h5py/_objects.pyx", 0), ("mine.py", 1)])
def test_the_traceback_that_cython_prints_of_it_is_left_out(
    monkeypatch: pytest.MonkeyPatch, file: str, printed: int
) -> None:
    calls: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda *words: calls.append(words))
    with second_errors_in_one_line():
        try:
            exec(compile("raise OSError(28, 'No space left on device')", file, "exec"))
        except OSError as error:
            sys.excepthook(type(error), error, error.__traceback__)
    assert len(calls) == printed
