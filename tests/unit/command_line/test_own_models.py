"""`auxmc sample` and `auxmc evidence` on a file: right draws, a run that resumes, and errors that say what to do."""

import argparse
import inspect
import json
import signal
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import auxmc
from auxmc.command_line import main
from auxmc.command_line.own_models import session
from auxmc.command_line.own_models.commands import METHODS, register
from auxmc.command_line.own_models.model_file import read_model
from auxmc.errors import AuxmcError, CommandError
from auxmc.interface.tempered import evidence

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
SHORT = ("--draws", "200", "--warm-up", "200", "--quiet")

CONJUGATE = """
import jax.numpy as jnp
start = {"mean": 0.0}
def log_density(p, data):
    # y ~ N(mean, 1), mean ~ N(0, 1)
    log_likelihood = -0.5 * jnp.sum((data["y"] - p["mean"]) ** 2)
    return log_likelihood - 0.5 * p["mean"] ** 2 - 0.5 * (1 + data["y"].size) * jnp.log(2 * jnp.pi)
"""
Y = np.array([1.2, 0.4, 1.9])


def command(*words):
    parser = argparse.ArgumentParser()
    register(parser.add_subparsers())
    options = parser.parse_args([str(word) for word in words])
    return int(options.run(options))


def rejected(*words):
    with pytest.raises(AuxmcError) as caught:
        command(*words)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.fixture(name="conjugate")
def make_conjugate(tmp_path):
    model, data = tmp_path / "conjugate.py", tmp_path / "y.csv"
    model.write_text(CONJUGATE)
    pd.DataFrame({"y": Y}).to_csv(data, index=False)
    return model, data


@pytest.mark.parametrize("name", ["sample", "evidence", "stream"])
def test_an_output_without_a_name_is_rejected(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "model.py", "--output", ""])
    assert "argument --output: expected a folder, got ''" in capsys.readouterr().err


def test_draws_are_those_of_the_posterior_and_are_kept(conjugate, tmp_path, capsys):
    model, data = conjugate
    out = tmp_path / "run"
    words = ("sample", model, "--data", data, *SHORT, "--output", out, "--plots", "png", "pdf")
    assert command(*words) == 0
    printed = capsys.readouterr()
    assert "mean" in printed.out
    assert f"draws, summary and plots are in {out}" in printed.err
    draws = xr.open_datatree(out / "result.nc", engine="h5netcdf")["posterior/mean"].to_numpy()
    assert draws.shape == (4, 200)
    assert draws.mean() == pytest.approx(Y.sum() / 4.0, abs=0.15)
    assert draws.std() == pytest.approx(0.5, abs=0.1)
    summary = pd.read_csv(out / "summary.csv").set_index("variable")
    assert summary.loc["mean", "mean"] == pytest.approx(draws.mean())
    for name in ("trace.png", "trace.pdf", "pairs.png", "settings.json"):
        assert (out / name).stat().st_size > 0
    about = json.loads((out / "settings.json").read_text())
    assert about["numbers"]["draws"] == 200
    assert about["environment"]["packages"]["auxmc"] == auxmc.__version__
    # The same command resumes from what is there; another one is rejected.
    assert command(*words) == 0
    again = xr.open_datatree(out / "result.nc", engine="h5netcdf")
    assert again.attrs["n_resumed"] == 4 * 400
    np.testing.assert_array_equal(again["posterior/mean"], draws)
    pd.DataFrame({"y": Y + 1.0}).to_csv(data, index=False)
    text = rejected(*words, "--seed", 3)
    assert "seed: 0 there, 3 now" in text
    assert "model_and_data" in text
    assert "--restart" in text


def test_an_interrupted_run_resumes(conjugate, tmp_path, monkeypatch, capsys):
    model, data = conjugate
    words = ("sample", model, "--data", data, *SHORT, "--chains", "2", "--cores", "1")
    assert command(*words, "--output", tmp_path / "whole") == 0
    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patched:
        write = session.OutputFolder.write_tree

        def interrupted(self, name, tree):
            signal.raise_signal(signal.SIGTERM)
            write(self, name, tree)

        patched.setattr(session.OutputFolder, "write_tree", interrupted)
        assert command(*words, "--output", tmp_path / "run") == 130
    assert "stopped; the same command resumes from" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is before
    assert not (tmp_path / "run" / "result.nc").exists()
    assert command(*words, "--output", tmp_path / "run") == 0
    one, other = (xr.open_datatree(tmp_path / name / "result.nc") for name in ("whole", "run"))
    np.testing.assert_array_equal(one["posterior/mean"], other["posterior/mean"])
    assert other.attrs["n_resumed"] == 2 * 400


@pytest.mark.slow
def test_an_evidence_is_right_within_its_error(conjugate, tmp_path, capsys):
    # Not Gaussian, so that no base is exact.
    data = conjugate[1]
    model = _file(tmp_path, CONJUGATE.replace('p["mean"] ** 2 -', 'p["mean"] ** 2 - 0.2 * p["mean"] ** 4 -'))
    out = tmp_path / "evidence"
    # As outside of these tests: optax promotes integers.
    with jax.numpy_dtype_promotion("standard"):
        words = ("evidence", model, "--data", data, *SHORT, "--chains", "8", "--output", out)
        assert command(*words) == 0
    text = capsys.readouterr().out.splitlines()[-1]
    grid = np.linspace(-4.0, 4.0, 4001)
    terms = -0.5 * np.sum((Y[:, None] - grid) ** 2, axis=0) - 0.5 * grid**2 - 0.2 * grid**4
    exact = np.log(np.trapezoid(np.exp(terms), grid)) - 2.0 * np.log(2.0 * np.pi)
    found = xr.open_datatree(out / "result.nc", engine="h5netcdf").attrs
    error = found["log_evidence_standard_error"]
    assert 0.0 < error < 0.5
    assert abs(found["log_evidence"] - exact) < 3.0 * error
    assert text.startswith(f"log evidence {found['log_evidence']:.3f} +- {error:.3f} nats")
    for name in ("chains.nc", "summary.csv"):
        assert (out / name).stat().st_size > 0
    # Plots on request, also from what is there.
    assert not list(out.glob("*.png"))
    assert command(*words, "--plots", "svg") == 0
    assert {path.stem for path in out.glob("*.svg")} == {"evidence", "pairs", "trace"}


def test_data_go_where_an_argument_asks_for_them(tmp_path):
    own = read_model(EXAMPLES / "decay.py", EXAMPLES / "decay.csv")
    assert own.kind == "simulator"
    assert own.parts["inputs"]["noise"].shape == own.parts["observed"].shape == (12,)
    inputs = {"rate": 0.0, "noise_scale": 2.0, "noise": np.ones(12)}
    np.testing.assert_array_equal(own.parts["generate"](inputs), np.full(12, 3.0))
    path, data = tmp_path / "estimate.py", tmp_path / "y.npy"
    np.save(data, Y)
    path.write_text(
        "import jax, jax.numpy as jnp\n"
        "def load(path): return 2.0 * jnp.load(path)\n"
        "def start(): return {'mean': 0.0}\n"
        "def auxiliary(key): return jax.random.normal(key, (3,))\n"
        "def log_prior(p): return -0.5 * p['mean'] ** 2\n"
        "def log_estimate(p, u, data): return jnp.sum(data)\n"
    )
    own = read_model(path, data)
    assert own.kind == "estimate"
    assert own.parts["start"] == {"mean": 0.0}
    assert float(own.parts["log_estimate"]({}, 0)) == pytest.approx(2.0 * Y.sum())
    path.write_text(path.read_text().replace("2.0 * jnp.load(path)", "{'y': np.ma.masked_less([1, -99], 0)}"))
    path.write_text("import numpy as np\n" + path.read_text())
    with pytest.raises(CommandError, match=r"y.npy: load: missing values \(masked\); fill them in"):
        read_model(path, data)
    # A function of a key draws random numbers; it is not data.
    assert callable(own.parts["auxiliary"])


def test_what_cannot_be_used_is_named_in_a_line(conjugate, tmp_path):
    model, data = conjugate
    text, out = tmp_path / "y.txt", tmp_path / "out"
    text.write_text("one")
    run = (model, "--data", data, "--output", out)
    for words, message in (
        ((tmp_path / "no.py",), "there is no such model file"),
        ((model,), "conjugate.py: expected data; give --data FILE"),
        ((model, "--data", tmp_path / "no.csv"), "no such file"),
        ((model, "--data", text), "give the model a function load(path)"),
        ((EXAMPLES / "two_modes.py", "--data", data), "no function has an argument called `data`"),
        (
            (*run, "--method", "pseudo_marginal"),
            "--method: expected one of nuts, hmc for a density, got pseudo_m",
        ),
        ((*run, "--set", "steps=3"), "NAME one of mass, step_size"),
        ((*run, "--set", "step_size=-1"), "step_size must be a positive number, got -1"),
        ((*run, "--draws", "0"), "draws must be an integer, at least 1, got 0"),
    ):
        assert message in rejected("sample", *words)
    # Nothing was drawn: the corrected call is not told that the folder holds another run, and finds no folder at all.
    assert not out.exists()
    for text, message in (
        ("log_likelihood = draw_prior = 1", "is a model of rows: auxmc stream"),
        ("log_density = 1", "has log_density but no start"),
        ("log_densty = 1", "did you mean log_density by log_densty?"),
        ("x = 1", "expected one of the functions generate"),
    ):
        assert message in rejected("sample", _file(tmp_path, text))
    wrong = _file(tmp_path, CONJUGATE.replace("jnp.sum((", "(("))
    message = "log_density must return one number, in nats, got shape (3,)"
    assert message in rejected("sample", wrong, *run[1:])
    decay = ("evidence", EXAMPLES / "decay.py", "--data", EXAMPLES / "decay.csv", "--output", out)
    assert "expected a density (log_density and start), got a simulator" in rejected(*decay)
    assert not out.exists(), "a rejected call leaves no folder behind"
    out.mkdir()
    rejected(*decay)
    assert out.is_dir(), "one that was there stays"


def test_what_was_warned_of_before_an_error_and_the_errors_kind_are_shown(conjugate, tmp_path, capsys):
    flat = "start = {'x': 0.0}\ndef log_density(v, data):\n    return -jnp.logaddexp(0.0, v['x'])"
    model = _file(tmp_path, f"import jax.numpy as jnp\n{flat}")
    words = ("sample", model, "--data", conjugate[1], "--output", tmp_path / "out")
    text = rejected(*words, "--set", "step_size=-1")
    assert "other.py: step_size must be a positive number, got -1" in text
    assert "auxmc: warning: log_density does not fall far out along x" in capsys.readouterr().err
    # Functions of the file may fail in any way.
    words = ("sample", _file(tmp_path, CONJUGATE.replace("    return", "    1 / 0\n    return")), *words[2:])
    assert "other.py: ZeroDivisionError: division by zero" in rejected(*words)


def test_checks_are_made_unless_they_are_switched_off(tmp_path, capsys):
    model = _file(tmp_path, "start = {'x': 0.0}\ndef log_density(v):\n    return -0.5 * v['x'] ** 2")
    for checks, warned in (("basic", True), ("off", False)):
        words = ("--draws", 5, "--warm-up", 0, "--quiet", "--checks", checks, "--output", tmp_path / checks)
        command("sample", model, *words)
        assert ("too few for any diagnostic" in capsys.readouterr().err) == warned


@pytest.mark.parametrize(("name", "text"), [("sample", "log_density(variables)"), ("stream", "--model TEXT")])
def test_the_help_imports_no_heavy_library(name, text):
    code = (
        "import sys; from auxmc.command_line import main\n"
        f"try: main([{name!r}, '--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(str({'jax', 'pandas', 'scipy', 'matplotlib', 'pyarrow'} & set(sys.modules) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not done.stderr.strip("\n")
    assert text in done.stdout


def test_the_help_names_the_methods():
    for names in METHODS.values():
        for name in names:
            assert inspect.signature(getattr(auxmc, name)).parameters
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    register(subparsers)
    texts = {name: own.format_help() for name, own in subparsers.choices.items()}
    assert "a simulator, conditioned exactly" in texts["sample"]
    assert "MODEL.py is a density" in texts["evidence"]
    assert "simulator" not in texts["evidence"]
    assert parser.parse_args(["evidence", "x.py"]).method == evidence.METHODS[0]


def _file(folder, text):
    path = folder / "other.py"
    path.write_text(text)
    return path


RATE = """
import jax, jax.numpy as jnp
prior = (lambda v: jnp.zeros(()), lambda key: {"theta": jax.random.uniform(key)})
bounds = {"theta": (0, 1)}
def log_density(v):
    return 7 * jnp.log(v["theta"]) + 13 * jnp.log1p(-v["theta"])
"""


def test_a_density_with_a_prior_needs_no_start(tmp_path):
    own = read_model(_file(tmp_path, RATE), None)
    assert own.kind == "density"
    assert {"prior", "bounds"} <= own.parts.keys()


@pytest.mark.slow
def test_nothing_is_said_of_the_edges_of_a_uniform_prior(tmp_path, capsys):
    model = _file(tmp_path, RATE)
    assert main(["evidence", str(model), "--draws", "128", "--quiet", "--output", str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    assert "reached from the prior" in told.out
    assert "warning" not in told.err
