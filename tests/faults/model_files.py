"""Model files of users that are wrong in every way that a program can be: refused in a line, or used with a warning."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.faults.runs import start
from tests.faults.trials import RIGHT, STOPPED, Outcome, command_outcome, run_command, with_example

_ROWS = """import jax, jax.numpy as jnp
def log_likelihood(parameters, rows):
    return {likelihood}
def log_prior(parameters):
    return {prior}
def draw_prior(key):
    return {draw}
"""
_RIGHT = {
    "likelihood": "-0.5 * (rows[:, 0] - parameters[0]) ** 2",
    "prior": "-0.5 * jnp.sum(parameters**2) - 0.5 * parameters.size * jnp.log(2 * jnp.pi)",
    "draw": "jax.random.normal(key, (2,))",
}
_DENSITY = """import jax, jax.numpy as jnp
def log_density(variables):
    {before}
    return {density}
start = {start}
"""
_RIGHT_DENSITY = {
    "before": "pass",
    "density": "-0.5 * jnp.sum(variables['x'] ** 2)",
    "start": "{'x': jnp.zeros(2)}",
}

# What stands in the place of an expression.
_WRONG = {
    "another shape": (
        "jnp.zeros(7)",
        "jnp.zeros((2, 2))",
        "jnp.zeros(())",
        "rows",
        "parameters",
        "variables",
    ),
    "no array": ("None", "'text'", "{}", "[1, 2]", "object()", "lambda: 0"),
    "NaN": (
        "jnp.nan",
        "jnp.log(-1.0 - jnp.sum({x} ** 2))",
        "jnp.full(({n},), jnp.nan)",
        "jnp.inf",
        "-jnp.inf",
    ),
    "NaN gradient": (
        "jnp.sqrt(jnp.sum(0.0 * {x}))",
        "jnp.sum(jnp.abs({x}) ** 0.5) * jnp.where(True, 1.0, jnp.nan)",
    ),
    "impure": (
        "__import__('random').random()",
        "float(__import__('time').time())",
        "STATE.append(1) or len(STATE)",
    ),
    "an exception": (
        "1 / 0",
        "nothing",
        "[][1]",
        "{}['a']",
        "(_ for _ in ()).throw(RuntimeError('mine'))",
        "exit(3)",
    ),
    "improper prior": ("0.0", "jnp.sum({x})", "1e300 * jnp.sum({x})"),
    "Python on a traced value": (
        "1.0 if {x}[0] > 0 else 0.0",
        "float({x}[0])",
        "int({x}.sum())",
        "__import__('math').log({x}[0])",
    ),
    "wrong precision": ("jnp.float16(1.0)", "jnp.int32(3)", "jnp.complex64(1j)", "jnp.asarray(True)"),
    "recursion": ("(lambda f: f(f))(lambda f: f(f))",),
}
_BROKEN_FILES = (
    "",
    "def",
    "import nothing_of_that_name",
    "raise RuntimeError('mine')",
    "raise SystemExit(5)",
    "log_density = 3\nstart = {}",
    "x = 1",
    "\x00",
    "def log_density(v): return 0.0\ndef generate(i): return i\nstart = {}",
    "def log_density(): return 0.0\nstart = {'x': 1.0}",
    "def log_density(v): return 0.0\nstart = {}",
    "def log_density(v): return 0.0\nstart = 'text'",
    "def log_density(v): return 0.0\ndef start(data): return data",
    "assert False",
    "raise KeyboardInterrupt",
)
_ENDLESS = "while True: pass"


def try_model_file(rng: np.random.Generator, folder: Path) -> Outcome:
    """A wrong model in `auxmc stream`, `auxmc sample` or `auxmc evidence`."""
    if rng.random() < 0.02:
        return _endless(rng, folder)
    model, rows = folder / "model.py", folder / "rows.csv"
    rows.write_text("a,b\n" + "\n".join(f"{a},{b}" for a, b in rng.normal(size=(12, 2))) + "\n")
    if rng.random() < 0.15:
        fault, text = "a broken file", str(rng.choice(_BROKEN_FILES))
        command = str(rng.choice(["stream", "sample", "evidence"]))
    else:
        fault = str(rng.choice(list(_WRONG)))
        command = "stream" if rng.random() < 0.6 else str(rng.choice(["sample", "evidence"]))
        wrong = str(rng.choice(_WRONG[fault]))
        if command == "stream":
            place = "prior" if fault == "improper prior" else str(rng.choice(list(_RIGHT)))
            wrong = wrong.replace("{x}", "parameters").replace("{n}", "12")
            text = "STATE = []\n" + _ROWS.format(**{**_RIGHT, place: wrong})
        else:
            place = (
                "density" if fault == "improper prior" else str(rng.choice(["density", "start", "before"]))
            )
            wrong = wrong.replace("{x}", "variables['x']").replace("{n}", "1")
            text = "STATE = []\n" + _DENSITY.format(**{**_RIGHT_DENSITY, place: wrong})
    model.write_text(text)
    code, errors = run_command(_words(command, model, rows, folder))
    return with_example(_judged(f"{fault}, {command}", code, errors), text)


def _words(command: str, model: Path, rows: Path, folder: Path) -> list[str]:
    if command == "stream":
        small = ["--particles", "8", "--moves", "1", "--replicates", "1", "--chunk-rows", "4", "--draws", "8"]
        return ["stream", "--data", str(rows), "--model", str(model), *small]
    small = ["--draws", "4", "--warm-up", "2", "--chains", "1", "--cores", "1", "--quiet"]
    return [command, str(model), *small, "--output", str(folder / "out")]


def _judged(fault: str, code: int, errors: str) -> Outcome:
    # What runs all the same is the user's model, taken at its word; warnings say what looks wrong with it.
    if code == 0:
        return Outcome(fault, RIGHT, "", errors)
    if code == 130 and "Traceback" not in errors:
        return Outcome(fault, STOPPED, "", errors)
    return command_outcome(fault, code, errors)


def _endless(rng: np.random.Generator, folder: Path) -> Outcome:
    """A function that never ends: the command is stopped by Ctrl-C, or a second one."""
    model, rows = folder / "model.py", folder / "rows.csv"
    rows.write_text("a,b\n1,2\n3,4\n5,6\n7,8\n")
    in_file = rng.random() < 0.3
    text = f"{_ENDLESS}\n" if in_file else _DENSITY.format(**{**_RIGHT_DENSITY, "before": _ENDLESS})
    model.write_text(text)
    words = _words("sample", model, rows, folder)
    process = start(folder, [sys.executable, "-m", "auxmc.command_line", *words])
    try:
        time.sleep(8.0)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15.0)
                break
        hung = process.poll() is None
    finally:
        process.kill()
    errors = process.communicate()[1]
    fault = "an endless loop, sample"
    if hung:
        return Outcome(fault, "hung", "", errors[-500:])
    if "Traceback" in errors:
        return Outcome(fault, "traceback", "", errors[-1500:])
    return Outcome(fault, STOPPED, "", errors[-200:])
