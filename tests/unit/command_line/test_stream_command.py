"""`auxmc stream` from the command line: one record however often it is stopped, and faults that name the cell."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from scipy.stats import multivariate_normal

from auxmc.command_line import main, stream_session
from auxmc.command_line.stream_folder import StreamFolder
from auxmc.command_line.stream_models import named_model
from auxmc.command_line.stream_reading import open_source, read_checked
from auxmc.command_line.stream_settings import SETTINGS
from auxmc.driver.files.locks import held
from auxmc.errors import CommandError, DataError
from auxmc.kernels.streams.contract import StreamSettings
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings

NAMES = ("load", "age", "pressure")
SMALL = (
    "--estimator",
    "annealed",
    "--particles",
    "4",
    "--moves",
    "2",
    "--batch-size",
    "10",
    "--replicates",
    "2",
)
SMALL = (*SMALL, "--chunk-rows", "20", "--every", "0")


def make_rows(n_rows: int) -> np.ndarray:
    rng = np.random.default_rng(8)
    x, noise = rng.normal(size=(n_rows, 2)), rng.normal(size=n_rows)
    return np.column_stack([x, x @ [1.0, -0.5] + 0.3 + noise])


DATA = make_rows(1230)


def write_parquet(path: Path, data: np.ndarray) -> Path:
    table = pa.table({name: data[:, i] for i, name in enumerate(NAMES)})
    pa_parquet.write_table(table, path, row_group_size=300)
    return path


def write_csv(path: Path, data: np.ndarray) -> Path:
    pd.DataFrame(data, columns=list(NAMES)).to_csv(path, index=False)
    return path


def run(data: Path, *options: str) -> int:
    return main(["stream", "--data", str(data), "--model", "linear", *SMALL, *options])


def same_record(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one.drop(columns="seconds"), other.drop(columns="seconds"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("whole")
    assert run(write_parquet(folder / "rows.parquet", DATA), "--output", str(folder / "run")) == 0
    record = pd.read_parquet(folder / "run" / "record.parquet")
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


def test_the_record_covers_every_chunk(whole: pd.DataFrame) -> None:
    assert whole["n_rows"].tolist() == [*range(20, 1221, 20), 1230]
    assert whole["provisional"].tolist() == [False] * 61 + [True]
    np.testing.assert_allclose(whole["log_evidence_per_row"] * whole["n_rows"], whole["log_evidence"])
    gains = np.diff(whole["log_evidence"], prepend=0.0) / np.diff(whole["n_rows"], prepend=0)
    np.testing.assert_allclose(whole["log_score_per_row"], gains)


def test_a_run_that_was_stopped_and_appended_to_has_the_record_of_one_that_was_not(
    whole: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--output", str(tmp_path / "run"))
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patched:
        report = stream_session._Session._report

        def interrupt(self: stream_session._Session, *arguments: object) -> None:
            report(self, *arguments)  # type: ignore[arg-type]
            signal.raise_signal(signal.SIGINT)

        patched.setattr(stream_session._Session, "_report", interrupt)
        assert run(write_csv(tmp_path / "rows.csv", DATA[:650]), *out) == 130
    assert "stopped; the same command goes on from" in capsys.readouterr().err
    stopped = pd.read_parquet(tmp_path / "run" / "record.parquet")
    assert 0 < len(stopped) < 32
    # Nothing has changed for whoever catches signals.
    assert signal.getsignal(signal.SIGINT) is before
    assert run(tmp_path / "rows.csv", *out) == 0
    assert f"goes on after row {stopped['n_rows'].iloc[-1]}" in capsys.readouterr().out
    # Appended rows may come in a file of another kind.
    assert run(write_parquet(tmp_path / "rows.parquet", DATA), *out) == 0
    same_record(pd.read_parquet(tmp_path / "run" / "record.parquet"), whole)


def test_a_bad_cell_is_named_and_mended(
    whole: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_csv(tmp_path / "rows.csv", DATA)
    lines = path.read_text().splitlines()
    good = lines[813]
    lines[813] = "0.5,oops,0.1"
    path.write_text("\n".join(lines) + "\n")
    out = ("--output", str(tmp_path / "run"))
    assert run(path, *out) == 1
    error = capsys.readouterr().err
    assert "row 813 (line 814), column 'age': " in error
    assert f"the record up to the last whole chunk is in {tmp_path / 'run'}".lower() in error.lower()
    kept = pd.read_parquet(tmp_path / "run" / "record.parquet")
    assert kept["n_rows"].iloc[-1] == 800
    lines[813] = good
    path.write_text("\n".join(lines) + "\n")
    assert run(path, *out) == 0
    same_record(pd.read_parquet(tmp_path / "run" / "record.parquet"), whole)


def test_models_are_compared_on_one_reading_with_the_past_in_a_file(
    whole: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_parquet(tmp_path / "rows.parquet", DATA)
    other = "linear noise_scale=3"
    assert run(path, "--model", other, "--past", "store", "--output", str(tmp_path / "run")) == 0
    assert (tmp_path / "run" / "state" / "rows.bin").stat().st_size == 1220 * 3 * 4
    record = pd.read_parquet(tmp_path / "run" / "record.parquet")
    one = record[record["model"] == "linear"].reset_index(drop=True)
    two = record[record["model"] == other].reset_index(drop=True)
    np.testing.assert_array_equal(one["log_evidence"], whole["log_evidence"])
    np.testing.assert_allclose(one["probability"] + two["probability"], 1.0)
    np.testing.assert_allclose(
        two["log_bayes_factor"] - one["log_bayes_factor"], two["log_evidence"] - one["log_evidence"]
    )
    assert one["log_bayes_factor"].iloc[-1] == 0.0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split()[:4] == ["rows", "model", "log", "evidence"]
    assert printed[-2].split()[:2] == ["1230", "linear"]
    assert printed[-1].split()[:3] == ["1230", *other.split()]
    # An error beside every evidence and every Bayes factor.
    assert [line.count("+-") for line in printed[-2:]] == [2, 2]
    assert (one["log_evidence_error"] > 0.0).all()
    assert (np.maximum(one["log_bayes_factor_error"], two["log_bayes_factor_error"]) > 0.0).all()


def test_a_folder_with_other_settings_is_refused_unless_thrown_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_parquet(tmp_path / "rows.parquet", DATA)
    out = ("--rows", "60", "--output", str(tmp_path / "run"))
    assert run(path, *out) == 0
    (tmp_path / "run" / "notes.txt").write_text("mine")
    assert run(path, *out, "--seed", "3", "--columns", "age,load,pressure") == 2
    error = capsys.readouterr().err
    assert 'columns: ["load", "age", "pressure"] there, ["age", "load", "pressure"] now' in error
    assert "seed: 20170717 there, 3 now" in error
    assert "--restart" in error
    other = write_parquet(tmp_path / "other.parquet", DATA[1:])
    assert run(other, *out) == 2
    assert "first_row" in capsys.readouterr().err
    assert run(path, *out, "--seed", "3", "--restart") == 0
    assert len(pd.read_parquet(tmp_path / "run" / "record.parquet")) == 3
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"


def test_a_model_that_reads_other_numbers_is_another_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its file is the same: what it reads, here from a module and a file beside it, has changed."""
    model = tmp_path / "mine.py"
    model.write_text(
        "import jax\nfrom pathlib import Path\nfrom beside import scale\n"
        "shift = float((Path(__file__).parent / 'shift.txt').read_text())\n"
        "def log_likelihood(parameters, rows):\n    return -0.5 * ((rows[:, 0] - parameters[0] - shift) / scale) ** 2\n"
        "def log_prior(parameters):\n    return -0.5 * parameters[0] ** 2\n"
        "def draw_prior(key):\n    return jax.random.normal(key, (1,))\n"
    )
    data = write_csv(tmp_path / "rows.csv", DATA[:60])

    def go_on(scale: str, shift: str) -> int:
        (tmp_path / "beside.py").write_text(f"scale = {scale}")
        (tmp_path / "shift.txt").write_text(shift)
        words = [
            "stream",
            "--data",
            str(data),
            "--model",
            str(model),
            "--output",
            str(tmp_path / "run"),
            *SMALL,
        ]
        return main(words)

    assert go_on("1.00", "0") == 0
    assert go_on("1.00", "0") == 0
    for changed in (("2.000", "0"), ("1.00", "3")):
        capsys.readouterr()
        assert go_on(*changed) == 2
        assert "holds a run with other settings (model_programs: " in capsys.readouterr().err


def test_a_second_run_in_a_folder_is_refused_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, folder = write_csv(tmp_path / "rows.csv", DATA[:100]), tmp_path / "run"
    folder.mkdir()
    with held(folder / ".lock"):
        assert run(data, "--output", str(folder)) == 2
        assert [path.name for path in folder.iterdir()] == [".lock"]
    said = capsys.readouterr().err
    assert "another run (process " in said
    assert "wait for it, or choose another folder" in said
    assert run(data, "--output", str(folder)) == 0
    assert not (folder / ".lock").exists()


@pytest.mark.parametrize("where", ["log_likelihood", "valid_rows"])
def test_a_model_that_exits_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    bodies = {"log_likelihood": "-((rows[:, 0] - parameters[0]) ** 2)", "valid_rows": "rows[:, 0] > -1e9"}
    bodies[where] = "exit(3)"
    path = tmp_path / "mine.py"
    path.write_text(
        "import jax\n"
        f"def log_likelihood(parameters, rows):\n    return {bodies['log_likelihood']}\n"
        f"def valid_rows(rows):\n    return {bodies['valid_rows']}\n"
        "def log_prior(parameters):\n    return -0.5 * parameters[0] ** 2\n"
        "def draw_prior(key):\n    return jax.random.normal(key, (1,))\n"
    )
    data = write_csv(tmp_path / "rows.csv", DATA[:8])
    assert main(["stream", "--data", str(data), "--model", str(path)]) != 0
    error = capsys.readouterr().err
    assert "mine.py: " in error
    assert "fails: SystemExit: 3" in error
    assert error.count("\n") == 1


def test_tables_of_a_run_that_was_removed_are_not_written(tmp_path: Path) -> None:
    folder = StreamFolder(tmp_path / "run", {"chunk_rows": 10})
    folder.begin()
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(CommandError, match="was removed or emptied while the run was going on"):
        folder.write_tables(pd.DataFrame({"n_rows": [10]}), None)
    assert not (tmp_path / "run").exists()


def test_labels_outside_the_model_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = DATA.copy()
    data[:, 2] = np.arange(len(data)) % 3
    data[46, 2] = 3
    data[18, 1] = 1e300
    source = open_source(write_parquet(tmp_path / "rows.parquet", data), "", "")
    models = [named_model("logistic classes=3", 3)]
    read: list[np.ndarray] = []
    with pytest.raises(
        DataError, match=r"row 19, column 'age' is 1e\+300, too large for float32; correct it"
    ):
        read.extend(read_checked(source, models, "float32", None, 0))
    np.testing.assert_array_equal(np.concatenate(read), data[:18])
    with pytest.raises(
        DataError, match=r"row 47, column 'pressure' is 3, no class: classes are .* 0 to 2 \(model log"
    ):
        list(read_checked(source, models, "float64", None, 0))
    read = list(read_checked(source, models, "float64", 45, 10))
    np.testing.assert_array_equal(np.concatenate(read), data[10:45])
    # Among the rows of the first chunk: nothing is begun.
    assert run(tmp_path / "rows.parquet", "--output", str(tmp_path / "run")) == 2
    assert "row 19, column 'age' is 1e+300, too large for float32" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_used_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_parquet(tmp_path / "rows.parquet", DATA)

    def refused(*words: str) -> str:
        assert main(["stream", *words]) == 2
        return capsys.readouterr().err

    def option(*words: str) -> str:
        return refused("--data", str(path), "--model", "linear", "--estimator", "annealed", *words)

    assert "no such file" in refused("--data", str(tmp_path / "no.csv"), "--model", "linear")
    marks = tmp_path / "marks.csv"
    marks.write_text("dose;n;k\n1,5;2;3\n", encoding="utf-8")
    assert "column 'dose': '1,5' is not a number; write decimals with a point" in refused(
        "--data", str(marks), "--model", "linear", "--response", "k"
    )
    assert "column 'n' is asked for twice" in refused(
        "--data", str(marks), "--model", "linear", "--columns", "n,n,k"
    )
    (tmp_path / "empty.csv").write_text("")
    assert "the file is empty" in refused("--data", str(tmp_path / "empty.csv"), "--model", "linear")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(path.read_bytes()[:-500])
    assert "not a complete Parquet file" in refused("--data", str(cut), "--model", "linear")
    error = option("--particles", "10000000")
    assert "the run needs about" in error
    assert "GiB are free: 10000000 particles of up to 3 parameters" in error
    assert "Lower --particles" in error
    assert "--batch-size is a setting of annealed, sequential, not of --estimator running_laplace" in option(
        "--estimator", "running_laplace", "--batch-size", "3"
    )
    assert "running_laplace draws no past rows" in option("--estimator", "running_laplace", "--past", "store")
    assert "use --past reservoir" in option("--control-variates", "--past", "store")
    assert "target_size must be below n_particles=10" in option("--target-size", "10")
    assert "--response 'y': there is no such column" in option("--response", "y")
    assert "--chunk-rows must be at least 1, got 0" in option("--chunk-rows", "0")
    assert "--replicates must be at least 1, got 0" in option("--replicates", "0")
    assert "--model 'linear' is given twice" in option("--model", "linear")


def test_an_unstable_learning_rate_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A curvature of 1 / 0.05^2 = 400 times the largest eigenvalue of the mean of (x, 1)(x, 1)^T, about 1.
    path = write_parquet(tmp_path / "rows.parquet", DATA)
    # The target size is refused after the check of stability.
    words = ["stream", "--data", str(path), "--estimator", "annealed"]
    words += ["--model", "linear noise_scale=0.05", "--target-size", "20"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "warning: model linear noise_scale=0.05: the first 500 rows have a curvature of about 4" in error
    assert "above the limit 36 of --learning-rate 0.1" in error
    assert main([*words[:-3], "linear", *words[-2:]]) == 2
    assert "warning" not in capsys.readouterr().err


@pytest.mark.slow
def test_by_default_the_evidence_is_right_within_its_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_csv(tmp_path / "rows.csv", DATA[:200])
    words = ["stream", "--data", str(path), "--model", "linear", "--model", "linear noise_scale=0.7"]
    assert main([*words, "--chunk-rows", "100", "--output", str(tmp_path / "run")]) == 0
    numbers = json.loads((tmp_path / "run" / "settings.json").read_text())["numbers"]
    assert numbers["estimator"] == "running_laplace"
    record = pd.read_parquet(tmp_path / "run" / "record.parquet").groupby("model").last()
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
    assert (
        f"{worse['log_bayes_factor']:.2f} +- {worse['log_bayes_factor_error']:.2f}" in capsys.readouterr().out
    )


def test_options_have_the_defaults_of_the_kernels() -> None:
    for setting in SETTINGS.values():
        for estimator, default in setting.defaults.items():
            kernel = RunningLaplaceSettings() if estimator == "running_laplace" else StreamSettings()
            if setting.field != "target_size":
                assert getattr(kernel, setting.field) == default, (estimator, setting.field)
    fields = {setting.field for setting in SETTINGS.values()} | {"estimator"}
    assert fields == {*StreamSettings._fields, *RunningLaplaceSettings._fields}
    assert StreamSettings().target_size == 0.5 * StreamSettings().n_particles


def test_the_help_needs_no_heavy_library() -> None:
    code = (
        "import sys; from auxmc.command_line import main\n"
        "try: main(['stream', '--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(str({'jax', 'pandas', 'scipy', 'pyarrow'} & set(sys.modules) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not done.stderr.strip("\n")
    assert "--model TEXT" in done.stdout


def test_a_rejected_row_ends_the_process_with_one_line(tmp_path: Path) -> None:
    """No thread of a reader outlives it: one that did aborted the process while Python ended."""
    path = tmp_path / "rows.csv"
    path.write_text("x,label\n" + "0.5,3\n" * 200, encoding="utf-8")
    words = ["stream", "--data", str(path), "--model", "logistic classes=3"]
    done = subprocess.run(
        [sys.executable, "-m", "auxmc.command_line", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


def test_columns_that_lose_digits_in_float32_are_read_in_float64(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A spread of 4e-5 about 1, where float32 is spaced by 1.2e-7."""
    data = DATA[:60].copy()
    data[:, 1] = 1.0 + 1e-5 * data[:, 1]
    file = write_csv(tmp_path / "rows.csv", data)
    assert run(file, "--output", str(tmp_path / "run")) == 0
    text = capsys.readouterr().err
    assert "float32 cannot tell the values of age apart to five digits: rows are read in float64" in text
    assert '"float64"' in "".join(path.read_text() for path in (tmp_path / "run").glob("*.json"))
