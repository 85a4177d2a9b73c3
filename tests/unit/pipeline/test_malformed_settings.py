"""Malformed settings of studies and options of commands: accepted, or rejected in one line; nothing in them is run."""

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auxmc.command_line import main
from auxmc_pipeline.catalogue import load_study, studies
from auxmc_pipeline.settings import SettingsError
from tests.audit import nothing_runs

ODD_VALUES = (
    "|0|-1|0.5|1e300|nan|-inf|null|true|a|[1,2|[1,2]|{a:1}|{a:|'|\"|\\|${seed}|${oc.env:HOME}|${nothing}|${oops"
    "|1,2,3|range(0,5)|glob(*)|choice(a,b)|../../etc/passwd|$(id)|`id`|99999999999999999999999|0x10|1_000|\n"
    "|!!python/object/apply:os.system ['id']|\x00|\u202e|\U0001f600|int(1.5)|shuffle(1,2)"
)
PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12)
VALUES = st.sampled_from(ODD_VALUES.split("|")) | PRINTABLE
ODD_KEYS = "= n-draws N_DRAWS seed.x ~seed +seed ++new hydra.run.dir _target_ sed"
OPTIONS = re.findall(
    r"--[\w-]+",
    "--seed --rows --chunk-rows --first-chunks --capacity --replicates --estimator --past --precision --particles "
    "--moves --learning-rate --friction --batch-size --columns --response --model --target-size --resampling "
    "--cooling-rows --draws --least-fit --exact-rows --first-fit --leapfrog --max-annealing-steps",
)
MODELS = ["", "linear", "linear noise_scale=", "logistic classes=", "nothing", "a.py:b", "'"]
ALWAYS_WRONG = [["--response", "absent"], ["--chunk-rows", "0"], ["--nothing", "1"]]
ALLOWED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
SEEDED = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=ALLOWED)


@SEEDED
@given(data=st.data())
def test_setting_of_a_study_is_accepted_or_rejected_in_one_line(data):
    study = load_study(data.draw(st.sampled_from(studies())))
    keys = st.sampled_from(["", *study.schema.__dataclass_fields__, *ODD_KEYS.split()])
    words = [f"{data.draw(keys)}={data.draw(VALUES)}" for _ in range(data.draw(st.integers(1, 3)))]
    message = "accepted"
    with nothing_runs():
        try:
            study.settings(words)
        except (SettingsError, OSError) as error:
            message = str(error)
    assert message.strip(), words
    assert "\n" not in message.strip(), words


@SEEDED
@given(data=st.data())
def test_wrong_option_of_a_command_is_an_error_of_one_line(data, tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    rows.write_text("x,y\n1,2\n2,3\n", encoding="utf-8")
    words = ["stream", "--data", str(rows), "--model", "linear"]
    for option in data.draw(st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=3)):
        name = data.draw(st.sampled_from(MODELS)) if option == "--model" else ""
        words += [option, (name + data.draw(VALUES)).replace("\x00", "")]
    words += data.draw(st.sampled_from(ALWAYS_WRONG))
    capsys.readouterr()
    with nothing_runs():
        try:
            code = main(words)
        except SystemExit as error:
            code = error.code
    said = capsys.readouterr().err
    assert code == 2, words
    assert "Traceback" not in said
    assert "error" in said.strip().splitlines()[-1]
