"""Wrong settings: of studies through Hydra's grammar, and options of the commands `auxmc stream` and `auxmc sample`."""

from pathlib import Path

import numpy as np

from auxmc_pipeline.catalogue import load_study, studies
from auxmc_pipeline.settings import SettingsError
from tests.faults.trials import RIGHT, Outcome, command_outcome, refusal, run_command, watched, with_example

_KEYS = (
    "seed",
    "n_draws",
    "n_chains",
    "block_size",
    "hardware",
    "preset",
    "data",
    "batch",
    "grids",
    "resources",
)
_ODD_KEYS = (
    "",
    "=",
    "n-draws",
    "N_DRAWS",
    "seed.x",
    "batch.seed",
    "~seed",
    "+seed",
    "++new",
    "hydra.run.dir",
    "_target_",
)
_VALUES = (
    "",
    "0",
    "-1",
    "1e300",
    "1e-300",
    "nan",
    "-inf",
    "null",
    "true",
    "a",
    "[1,2",
    "[1,2]",
    "{a:1}",
    "{a:",
    "'",
    '"',
    "\\",
    "${seed}",
    "${oc.env:HOME}",
    "${nothing}",
    "${oops",
    "1,2,3",
    "range(0,5)",
    "glob(*)",
    "choice(a,b)",
    "../../etc/passwd",
    "/etc/passwd",
    "$(id)",
    "`id`",
    "!!python/object/apply:os.system ['id']",
    "99999999999999999999999",
    "0x10",
    "1_000",
    "\x00",
    "\n",
    "\u202e",
    "\U0001f600",
    "a" * 5000,
    "int(1.5)",
    "shuffle(1,2)",
    "extend_list(1)",
    "inf",
    "0.5",
)
_OPTIONS = (
    "--seed",
    "--rows",
    "--chunk-rows",
    "--first-chunks",
    "--capacity",
    "--replicates",
    "--estimator",
    "--past",
    "--precision",
    "--particles",
    "--moves",
    "--learning-rate",
    "--friction",
    "--batch-size",
    "--columns",
    "--response",
    "--model",
    "--target-size",
    "--resampling",
    "--cooling-rows",
    "--draws",
    "--least-fit",
    "--exact-rows",
    "--first-fit",
    "--leapfrog",
    "--max-annealing-steps",
)
_MODELS = (
    "linear",
    "linear noise_scale=",
    "logistic classes=",
    "mixture components=",
    "nothing",
    "a.py",
    "a.py:b",
    "'",
)


def setting_of_a_study(rng: np.random.Generator, folder: Path) -> Outcome:
    """One to three settings of a study, of which most are wrong."""
    study = load_study(str(rng.choice(studies())))
    names = [*_KEYS, *(field for field in study.schema.__dataclass_fields__)]
    words = [f"{_key(rng, names)}={_value(rng)}" for _ in range(rng.integers(1, 4))]
    fault = "setting of a study"
    with watched(folder) as seen:
        try:
            study.settings(words)
            found = Outcome(fault, RIGHT)
        except SettingsError as error:
            found = refusal(fault, str(error))
        except OSError as error:
            # Said in one line by every command that composes settings.
            found = refusal(fault, str(error))
    if seen and not any("data=" in word or "weights=" in word for word in words):
        return Outcome(fault, *seen[0], f"{words}")
    return with_example(found, words)


def option_of_a_command(rng: np.random.Generator, folder: Path) -> Outcome:
    """Options of `auxmc stream` that argparse and our own checks must refuse before anything is compiled."""
    rows = folder / "rows.csv"
    rows.write_text("x,y\n1,2\n2,3\n")
    words = ["stream", "--data", str(rows), "--model", "linear"]
    for _ in range(rng.integers(1, 4)):
        option = str(rng.choice(_OPTIONS))
        value = str(rng.choice(_MODELS)) + _value(rng) if option == "--model" else _value(rng)
        words += [option, value.replace("\x00", "")]
    # One that is always wrong, so that nothing is absorbed.
    words += [["--response", "absent"], ["--chunk-rows", "0"], ["--nothing", "1"]][rng.integers(3)]
    with watched(folder):
        code, errors = run_command(words)
    return with_example(command_outcome("option of a command", code, errors, allowed=(2,)), words)


def try_settings(rng: np.random.Generator, folder: Path) -> Outcome:
    """A wrong setting."""
    return (setting_of_a_study if rng.random() < 0.7 else option_of_a_command)(rng, folder)


def _key(rng: np.random.Generator, names: list[str]) -> str:
    if rng.random() < 0.15:
        return str(rng.choice(_ODD_KEYS))
    name = str(rng.choice(names))
    if rng.random() < 0.1:
        place = rng.integers(len(name))
        return name[:place] + name[place + 1 :]
    return name


def _value(rng: np.random.Generator) -> str:
    if rng.random() < 0.2:
        return "".join(chr(c) for c in rng.integers(32, 127, rng.integers(1, 12)))
    return str(_VALUES[rng.integers(len(_VALUES))])
