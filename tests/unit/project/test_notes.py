"""Commands in the notes of the studies name settings that exist, with values that are allowed."""

import shlex

import pytest

from auxmc_pipeline.catalogue import load_study, studies
from tests.pipeline.documentation import Shown, note_commands

# What a reader puts in place of a file of their own, by study.
OWN_DATA = {
    "gp_probit": ["data=docs/examples/labelled.csv", "label=class"],
    "boltzmann": ["data=docs/examples/boltzmann.csv"],
}


@pytest.mark.parametrize("shown", list(note_commands()), ids=lambda shown: shown.command[:70])
def test_a_command_of_the_notes_has_valid_settings(shown: Shown) -> None:
    words = shlex.split(shown.command)
    if words[:2] == ["snakemake", "sweep"]:
        given = dict(word.split("=", 1) for word in words[words.index("--config") + 1 :])
        assert load_study(given["study"]).sweep("smoke", shlex.split(given["over"]))
    elif words[0] == "snakemake":
        assert words[1] in studies()
    else:
        study = load_study(next(word.removeprefix("study=") for word in words if word.startswith("study=")))
        given = [word for word in words[3:] if not word.startswith(("study=", "out="))]
        known = set(study.schema.__dataclass_fields__)
        assert {word.split("=")[0].split(".")[0] for word in given} <= known
        if "prior=published" in given:  # a file of others, which this machine may not have
            return
        if not any(word in shown.command for word in ("my.csv", "FILE")):
            assert study.settings(given)
        elif study.name in OWN_DATA:
            assert study.settings(OWN_DATA[study.name])
