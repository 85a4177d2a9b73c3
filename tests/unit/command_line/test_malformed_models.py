"""Model files that are wrong in every way that a program can be: rejected in one line."""

from pathlib import Path

import pytest

from auxmc.command_line import main

BROKEN_FILES = [
    *("", "def", "import nothing_of_that_name", "raise RuntimeError('mine')", "raise SystemExit(5)", "\x00"),
    *("log_density = 3\nstart = {}", "def log_density(v): return 0.0\nstart = 'text'", "assert False"),
]
SMALL = "--draws 4 --warm-up 2 --chains 1 --cores 1 --quiet --output out"
WORDS = {
    "stream": "--data rows.csv --model model.py --particles 8 --moves 1 --replicates 1 --chunk-rows 4 --draws 8",
    "sample": f"model.py {SMALL}",
    "evidence": f"model.py {SMALL}",
}


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize("text", BROKEN_FILES)
def test_broken_file_is_rejected(command, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(text, encoding="utf-8")
    Path("rows.csv").write_text("a,b\n1,2\n3,4\n5,6\n7,8\n", encoding="utf-8")
    assert main([command, *WORDS[command].split()]) in (1, 2)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "error" in said.strip().splitlines()[-1]
