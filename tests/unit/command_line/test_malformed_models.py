"""Model files that are wrong in every way that a program can be: rejected in one line, or run as they are."""

from pathlib import Path

import pytest

from auxmc.command_line import main

ROWS = """import jax, jax.numpy as jnp
STATE = []
def log_likelihood(parameters, rows):
    return {}
def log_prior(parameters):
    return -0.5 * jnp.sum(parameters**2) - 0.5 * parameters.size * jnp.log(2 * jnp.pi)
def draw_prior(key):
    return jax.random.normal(key, (2,))
"""
DENSITY = """import jax, jax.numpy as jnp
STATE = []
def log_density(variables):
    return {}
start = {{'x': jnp.zeros(2)}}
"""
WRONG = {
    "another shape": "jnp.zeros(7)",
    "no array": "'text'",
    "NaN": "jnp.log(-1.0 - jnp.sum({x} ** 2))",
    "NaN gradient": "jnp.sqrt(jnp.sum(0.0 * {x}))",
    "an exception": "1 / 0",
    "an exit": "exit(3)",
    "improper": "1e300 * jnp.sum({x})",
    "Python on a traced value": "float({x}[0])",
    "complex": "jnp.complex64(1j)",
    "recursion": "(lambda f: f(f))(lambda f: f(f))",
}
BROKEN_FILES = [
    "",
    "def",
    "import nothing_of_that_name",
    "raise RuntimeError('mine')",
    "raise SystemExit(5)",
    "\x00",
]
BROKEN_FILES += [
    "log_density = 3\nstart = {}",
    "def log_density(v): return 0.0\nstart = 'text'",
    "assert False",
]


def rejected(capsys: pytest.CaptureFixture[str], folder: Path, command: str, text: str) -> None:
    (folder / "model.py").write_text(text, encoding="utf-8")
    (folder / "rows.csv").write_text("a,b\n1,2\n3,4\n5,6\n7,8\n", encoding="utf-8")
    if command == "stream":
        words = ["--data", str(folder / "rows.csv"), "--model", str(folder / "model.py"), "--particles", "8"]
        words += ["--moves", "1", "--replicates", "1", "--chunk-rows", "4", "--draws", "8"]
    else:
        words = [
            str(folder / "model.py"),
            *["--draws", "4", "--warm-up", "2", "--chains", "1", "--cores", "1", "--quiet"],
        ]
        words += ["--output", str(folder / "out")]
    assert main([command, *words]) in (1, 2)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "error" in said.strip().splitlines()[-1]


@pytest.mark.parametrize("command", ["stream", "sample", "evidence"])
@pytest.mark.parametrize("text", BROKEN_FILES)
def test_broken_file_is_rejected(
    command: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rejected(capsys, tmp_path, command, text)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["stream", "sample"])
@pytest.mark.parametrize("fault", WRONG)
def test_wrong_density_is_rejected(
    command: str, fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = "parameters" if command == "stream" else "variables['x']"
    rejected(
        capsys, tmp_path, command, (ROWS if command == "stream" else DENSITY).format(WRONG[fault].format(x=x))
    )
