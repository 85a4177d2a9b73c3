"""`auxmc stream` from the command line: one record however often it is stopped, and faults that name the cell."""

import io
import json
import math
import signal
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import multivariate_normal

from auxmc.command_line import main, stream_session
from auxmc.command_line.stream import SETTINGS
from auxmc.command_line.stream_session import Display
from auxmc.command_line.stream_setup import open_source, parse_model, read_checked
from auxmc.driver.files import file_lock
from auxmc.errors import CommandError, DataError
from auxmc.kernels.streams.contract import StreamSettings
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

NAMES = ("load", "age", "pressure")
SMALL = "--estimator annealed --particles 4 --moves 2 --batch-size 10 --replicates 2 --chunk-rows 20"
SMALL += " --every 0"
OWN_MODEL = GIVEN["own_model"]


RNG = np.random.default_rng(8)
X, NOISE = RNG.normal(size=(1230, 2)), RNG.normal(size=1230)
DATA = np.column_stack([X, X @ [1.0, -0.5] + 0.3 + NOISE])


def write_parquet(path, data):
    pd.DataFrame(data, columns=list(NAMES)).to_parquet(path, row_group_size=300)
    return path


def write_csv(path, data):
    pd.DataFrame(data, columns=list(NAMES)).to_csv(path, index=False)
    return path


def run(data, *options):
    return main(["stream", "--data", str(data), "--model", "linear", *SMALL.split(), *options])


def record_in(folder):
    return pd.read_parquet(folder / "record.parquet").drop(columns="seconds")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert run(write_parquet(folder / "rows.parquet", DATA), "--output", str(folder / "run")) == 0
    record = record_in(folder / "run")
    about = json.loads((folder / "run" / "settings.json").read_text())
    assert about["numbers"]["seed"] == 20170717
    assert about["numbers"]["columns"] == list(NAMES)
    assert about["environment"]["packages"]["auxmc"] == about["numbers"]["auxmc"]
    again = pd.read_csv(folder / "run" / "record.csv", keep_default_na=False, float_precision="round_trip")
    np.testing.assert_array_equal(again["log_evidence"], record["log_evidence"])
    particles = pd.read_parquet(folder / "run" / "particles.parquet")
    assert set(particles["parameter"]) == {"weights", "intercept"}
    assert len(particles) == 2 * 4 * 3
    assert particles["replicate"].unique().tolist() == [0, 1]
    assert particles["particle"].max() == 3
    return record


def test_the_record_covers_every_chunk(whole):
    assert whole["n_rows"].tolist() == [*range(20, 1221, 20), 1230]
    assert whole["provisional"].tolist() == [False] * 61 + [True]
    np.testing.assert_allclose(whole["log_evidence_per_row"] * whole["n_rows"], whole["log_evidence"])
    gains = np.diff(whole["log_evidence"], prepend=0.0) / np.diff(whole["n_rows"], prepend=0)
    np.testing.assert_allclose(whole["log_score_per_row"], gains)


def test_a_run_that_was_stopped_and_appended_to_has_the_whole_record(whole, tmp_path, monkeypatch, capsys):
    out = ("--output", str(tmp_path / "run"))
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patched:
        report = stream_session._Session._report

        def interrupt(self, *arguments):
            report(self, *arguments)
            signal.raise_signal(signal.SIGINT)

        patched.setattr(stream_session._Session, "_report", interrupt)
        assert run(write_csv(tmp_path / "rows.csv", DATA[:650]), *out) == 130
    assert "stopped; the same command resumes from" in capsys.readouterr().err
    stopped = record_in(tmp_path / "run")
    assert 0 < len(stopped) < 32
    # Nothing has changed for whoever catches signals.
    assert signal.getsignal(signal.SIGINT) is before
    assert run(tmp_path / "rows.csv", *out) == 0
    assert f"resumed after row {stopped['n_rows'].iloc[-1]}" in capsys.readouterr().out
    # Appended rows may come in a file of another kind.
    assert run(write_parquet(tmp_path / "rows.parquet", DATA), *out) == 0
    pd.testing.assert_frame_equal(record_in(tmp_path / "run"), whole)


@pytest.mark.parametrize("past", ["reservoir", "store"])
def test_a_row_that_was_absorbed_and_has_changed_is_noticed(past, tmp_path, capsys):
    command = ("--output", str(tmp_path / "run"), "--past", past)
    assert run(write_csv(tmp_path / "rows.csv", DATA[:200]), *command) == 0
    changed = DATA.copy()
    changed[57, 0] += 1.0
    capsys.readouterr()
    assert run(write_csv(tmp_path / "rows.csv", changed[:300]), *command) == 1
    error = capsys.readouterr().err
    assert "one of the first 200 rows has changed since they were absorbed; give them" in error
    assert run(write_csv(tmp_path / "rows.csv", DATA[:300]), *command) == 0


def test_a_bad_cell_is_named_and_fixed(whole, tmp_path, capsys):
    path = write_csv(tmp_path / "rows.csv", DATA)
    lines = path.read_text().splitlines()
    good = lines[813]
    lines[813] = "0.5,oops,0.1"
    path.write_text("\n".join(lines) + "\n")
    out = ("--output", str(tmp_path / "run"))
    assert run(path, *out) == 1
    error = capsys.readouterr().err
    assert "row 813 (line 814), column 'age': " in error
    assert f"the chunks before it are in {tmp_path / 'run'}" in error
    assert record_in(tmp_path / "run")["n_rows"].iloc[-1] == 800
    lines[813] = good
    path.write_text("\n".join(lines) + "\n")
    assert run(path, *out) == 0
    pd.testing.assert_frame_equal(record_in(tmp_path / "run"), whole)


def test_models_are_compared_on_one_reading_with_the_past_in_a_file(whole, tmp_path, capsys):
    path = write_parquet(tmp_path / "rows.parquet", DATA)
    other = "linear noise_scale=3"
    assert run(path, "--model", other, "--past", "store", "--output", str(tmp_path / "run")) == 0
    assert (tmp_path / "run" / "state" / "rows.bin").stat().st_size == 1220 * 3 * 4
    record = record_in(tmp_path / "run")
    one = record[record["model"] == "linear"].reset_index(drop=True)
    two = record[record["model"] == other].reset_index(drop=True)
    np.testing.assert_array_equal(one["log_evidence"], whole["log_evidence"])
    np.testing.assert_allclose(one["probability"] + two["probability"], 1.0)
    factors, evidences = (two[name] - one[name] for name in ("log_bayes_factor", "log_evidence"))
    np.testing.assert_allclose(factors, evidences)
    assert one["log_bayes_factor"].iloc[-1] == 0.0
    printed = [line for line in capsys.readouterr().out.splitlines() if "+-" in line][-2:]
    for line, name in zip(printed, ("linear", other), strict=True):
        assert line.split()[: len(name.split()) + 1] == [*name.split(), "1230"]
        assert line.count("+-") == 2
    assert (one["log_evidence_error"] > 0.0).all()
    assert (np.maximum(one["log_bayes_factor_error"], two["log_bayes_factor_error"]) > 0.0).all()


def test_a_change_of_the_stream_is_flagged(tmp_path, capsys):
    data = DATA[:200].copy()
    data[120:, 2] += 20.0
    assert run(write_csv(tmp_path / "rows.csv", data), "--output", str(tmp_path / "run")) == 0
    assert "change point: rows 121 to 140, model linear: " in capsys.readouterr().out
    assert record_in(tmp_path / "run")["change_point"].tolist()[6] == "jump"


def test_a_folder_with_other_settings_is_rejected_without_restart(tmp_path, capsys):
    path = write_parquet(tmp_path / "rows.parquet", DATA)
    out = ("--rows", "60", "--output", str(tmp_path / "run"))
    assert run(path, *out) == 0
    assert run(path, *out, "--seed", "3", "--columns", "age,load,pressure") == 2
    error = capsys.readouterr().err
    assert 'columns: ["load", "age", "pressure"] there, ["age", "load", "pressure"] now' in error
    assert "seed: 20170717 there, 3 now" in error
    assert "--restart" in error
    assert run(write_parquet(tmp_path / "other.parquet", DATA[1:]), *out) == 2
    assert "first_row" in capsys.readouterr().err
    assert run(path, *out, "--seed", "3", "--restart") == 0
    assert len(record_in(tmp_path / "run")) == 3


def test_a_model_that_reads_other_numbers_is_another_model(tmp_path, capsys):
    """Its file is the same: what it reads, here from a module and a file in its folder, has changed."""
    model, data = tmp_path / "mine.py", write_csv(tmp_path / "rows.csv", DATA[:60])
    top = "from pathlib import Path\nfrom scales import scale\n"
    top += "shift = float((Path(__file__).parent / 'shift.txt').read_text())"
    density = "-0.5 * ((rows[:, 0] - parameters[0] - shift) / scale) ** 2"
    model.write_text(OWN_MODEL.format(top=top, log_likelihood=density, valid_rows="rows[:, 0] > -1e9"))

    def resume(scale, shift):
        (tmp_path / "scales.py").write_text(f"scale = {scale}")
        (tmp_path / "shift.txt").write_text(shift)
        return main(f"stream --data {data} --model {model} --output {tmp_path / 'run'} {SMALL}".split())

    assert resume("1.00", "0") == 0
    assert resume("1.00", "0") == 0
    for changed in (("2.000", "0"), ("1.00", "3")):
        capsys.readouterr()
        assert resume(*changed) == 2
        assert "holds a run with other settings (model_programs: " in capsys.readouterr().err


def test_a_second_run_in_a_folder_is_rejected_and_changes_nothing(tmp_path, capsys):
    data, folder = write_csv(tmp_path / "rows.csv", DATA[:100]), tmp_path / "run"
    folder.mkdir()
    with file_lock(folder / ".lock"):
        assert run(data, "--output", str(folder)) == 2
        assert [path.name for path in folder.iterdir()] == [".lock"]
    assert "another run (process " in capsys.readouterr().err
    assert run(data, "--output", str(folder)) == 0
    assert not (folder / ".lock").exists()


@pytest.mark.parametrize("where", ["log_likelihood", "valid_rows"])
def test_a_model_that_exits_is_an_error_of_one_line(tmp_path, capsys, where):
    bodies = {"log_likelihood": "-((rows[:, 0] - parameters[0]) ** 2)", "valid_rows": "rows[:, 0] > -1e9"}
    bodies[where] = "exit(3)"
    path = tmp_path / "mine.py"
    path.write_text(OWN_MODEL.format(top="", **bodies))
    data = write_csv(tmp_path / "rows.csv", DATA[:8])
    assert main(["stream", "--data", str(data), "--model", str(path)]) != 0
    error = capsys.readouterr().err
    assert "mine.py" in error
    assert "fails: SystemExit: 3" in error
    assert error.count("\n") == 1


def test_rows_outside_the_model_are_named(tmp_path, capsys):
    data = DATA.copy()
    data[:, 2] = np.arange(len(data)) % 3
    data[46, 2] = 3
    data[18, 1] = 1e300
    source = open_source(write_parquet(tmp_path / "rows.parquet", data), "", "")
    models = [parse_model("logistic classes=3", 3)]
    read = []
    with pytest.raises(DataError, match=r"row 19, column 'age': .* within float32, got 1e\+300"):
        read.extend(read_checked(source, models, "float32", None, 0))
    np.testing.assert_array_equal(np.concatenate(read), data[:18])
    with pytest.raises(DataError, match=r"row 47, column 'pressure': .* classes 0 to 2 \(model log.*, got 3"):
        list(read_checked(source, models, "float64", None, 0))
    read = list(read_checked(source, models, "float64", 45, 10))
    np.testing.assert_array_equal(np.concatenate(read), data[10:45])
    # In the first chunk: nothing is started.
    assert run(tmp_path / "rows.parquet", "--output", str(tmp_path / "run")) == 2
    assert "row 19, column 'age': expected a number within float32" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("words", "message"), GIVEN["rejected"].items(), ids=GIVEN["rejected"])
def test_what_cannot_be_used_is_rejected_before_anything_runs(tmp_path, words, message, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_parquet(Path("rows.parquet"), DATA)
    assert main(["stream", "--data", "rows.parquet", "--model", "linear", *words.split()]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_by_default_the_evidence_is_right_within_its_error(tmp_path, capsys):
    path = write_csv(tmp_path / "rows.csv", DATA[:200])
    words = ["stream", "--data", str(path), "--model", "linear", "--model", "linear noise_scale=0.7"]
    assert main([*words, "--chunk-rows", "100", "--output", str(tmp_path / "run")]) == 0
    numbers = json.loads((tmp_path / "run" / "settings.json").read_text())["numbers"]
    assert numbers["estimator"] == "running_laplace"
    record = record_in(tmp_path / "run").groupby("model").last()
    design = np.column_stack([DATA[:200, :2], np.ones(200)])
    exact = {
        name: multivariate_normal(cov=scale**2 * np.eye(200) + design @ design.T).logpdf(DATA[:200, 2])
        for name, scale in (("linear", 1.0), ("linear noise_scale=0.7", 0.7))
    }
    for name, value in exact.items():
        row = record.loc[name]
        assert 0.0 < row["log_evidence_error"] < 1.0
        assert abs(row["log_evidence"] - value) < 3.0 * row["log_evidence_error"]
    worse = record.loc["linear noise_scale=0.7"]
    factor = exact["linear noise_scale=0.7"] - exact["linear"]
    assert abs(worse["log_bayes_factor"] - factor) < 3.0 * worse["log_bayes_factor_error"]
    shown = f"{worse['log_bayes_factor']:.2f} +- {worse['log_bayes_factor_error']:.2f}"
    assert shown in capsys.readouterr().out


def test_options_cover_the_kernels_and_state_their_defaults():
    annealed, laplace = StreamSettings()._asdict(), RunningLaplaceSettings()._asdict()
    assert {*SETTINGS, "estimator"} == {*annealed, *laplace}
    for field, (_, text) in SETTINGS.items():
        for values in (annealed, laplace):
            if field in values and field not in ("target_size", "control_variates", "cooling_rows"):
                assert str(values[field]) in text, field


def test_a_rejected_row_ends_the_process_with_one_line(tmp_path):
    """No thread of a reader outlives it: one that did aborted the process while Python ended."""
    path = tmp_path / "rows.csv"
    path.write_text("x,label\n" + "0.5,3\n" * 200, encoding="utf-8")
    words = ["stream", "--data", str(path), "--model", "logistic classes=3"]
    done = subprocess.run([sys.executable, "-m", "auxmc", *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


def test_columns_that_lose_digits_in_float32_are_read_in_float64(tmp_path, capsys):
    """A spread of 4e-5 about 1, where float32 is spaced by 1.2e-7."""
    data = DATA[:60].copy()
    data[:, 1] = 1.0 + 1e-5 * data[:, 1]
    assert run(write_csv(tmp_path / "rows.csv", data), "--output", str(tmp_path / "run")) == 0
    assert "warning: age: float32 does not hold five digits of the first rows" in capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["numbers"]["precision"] == "float64"


def test_a_later_row_that_loses_digits_in_float32_is_warned_of(tmp_path, capsys):
    """The precision is fixed by the first chunk; a column with values of 1e7 and a unit spread comes later."""
    data = DATA[:60].copy()
    data[20:, 1] += 1e7
    run(write_csv(tmp_path / "rows.csv", data))
    error = capsys.readouterr().err
    assert "age: float32 does not hold five digits in rows 21 to 40; give --precision float64" in error
    assert error.count("warning") == 1


def test_a_terminal_has_a_table_that_is_redrawn(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    file = io.StringIO()
    file.isatty = lambda: True
    record = {"n_rows": 4000, "log_evidence": -5000.25, "log_evidence_error": np.nan, "probability": 0.25}
    record |= {"log_evidence_per_row": -1.25, "log_bayes_factor": -0.0123, "log_bayes_factor_error": 0.0045}
    ranked = {"mixture [a]": {name: np.array([x]) for name, x in (record | {"n_annealing_steps": 1}).items()}}
    display = Display(0.0, 16_000, file)
    display.show(ranked)
    display.say("something")
    display.show(ranked, last=True)
    display.close()
    texts = "4000|-5000.25 +- ?|-0.0123 +- 0.0045|mixture [a]|something|25% of 16,000 rows"
    assert all(text in file.getvalue() for text in texts.split("|"))


EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "student_regression.py"


@pytest.mark.parametrize(
    ("text", "name", "dim"),
    [
        ("linear   noise_scale=0.5", "linear noise_scale=0.5", 3),
        ("logistic classes=4", None, 12),
        ("mixture components=2", None, 14),
        ("mixture components=2 weights=stick_breaking means=non_centred", None, 13),
        (f"{EXAMPLE} degrees=3", None, 4),
        (f"{EXAMPLE}:model", None, 4),
    ],
)
def test_words_name_a_model_with_settings(text, name, dim):
    model = parse_model(text, 3)
    assert model.name == (name or text)
    assert (model.model.dim, model.model.n_columns) == (dim, 3)
    assert bool(model.file_digest) == (".py" in text)


@pytest.mark.parametrize(("text", "message"), GIVEN["wrong"])
def test_words_that_name_no_model_are_rejected(text, message):
    with pytest.raises(CommandError, match=message):
        parse_model(text, 3)


def test_a_regression_needs_a_response_and_an_input():
    with pytest.raises(CommandError, match="expected two or more columns"):
        parse_model("linear", 1)
    assert parse_model("mixture components=2", 1).model.n_columns == 1


def test_rows_without_a_probability_are_found(tmp_path):
    classes = np.array([[0.5, 0.0], [0.5, 2.0], [0.5, 1.5], [0.5, -1.0], [0.5, 3.0]])
    model = parse_model("logistic classes=3", 2)
    assert model.valid_rows(classes).tolist() == [True, True, False, False, False]
    assert (model.column, model.requirement) == (1, "one of the classes 0 to 2")
    assert parse_model("linear", 2).valid_rows(classes).all()
    path = tmp_path / "mine.py"
    path.write_text(EXAMPLE.read_text() + "\n\ndef valid_rows(rows):\n    return rows[:, -1] > 0\n")
    assert parse_model(str(path), 2).valid_rows(classes).tolist() == [False, True, True, False, True]
    path.write_text(EXAMPLE.read_text() + "\n\ndef valid_rows(rows):\n    return rows\n")
    with pytest.raises(CommandError, match=r"valid_rows: expected booleans \[5\], one a row, got float64"):
        parse_model(str(path), 2).valid_rows(classes)


def test_a_mixture_may_have_one_component():
    """Its prior is that of a component of more."""
    model = parse_model("mixture components=1", 2).model
    drawn = jax.vmap(model.draw_prior)(jax.random.split(jax.random.key(0), 3))
    for parameters in drawn:
        means, log_variances = parameters[:2], parameters[2:]
        pair = gaussian_mixture(2, 2, weight_coordinates="log_ratio")
        both = jnp.concatenate([jnp.zeros(1), means, means, log_variances, log_variances])
        # The weights' coordinate has the logistic density, 1/4 at zero.
        expected = 0.5 * (float(pair.log_prior(both)) - math.log(0.25))
        assert float(model.log_prior(parameters)) == pytest.approx(expected, rel=1e-12)
        rows = jnp.array([[0.3, -1.0], [2.0, 0.1]])
        found, expected = model.log_likelihood(parameters, rows), pair.log_likelihood(both, rows)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
