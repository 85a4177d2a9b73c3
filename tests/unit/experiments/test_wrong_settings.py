"""Settings that a study rejects before anything runs, with what it says of them."""

from pathlib import Path

import pytest
import yaml

from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.settings import SettingsError

EXAMPLES = str(ROOT / "docs" / "examples")
WRONG = yaml.safe_load(Path(__file__).with_name("wrong_settings.yaml").read_text())


@pytest.mark.parametrize(
    ("study", "words", "message"), [(study, *row) for study, rows in WRONG.items() for row in rows]
)
def test_wrong_settings_are_rejected(study, words, message):
    with pytest.raises(SettingsError, match=message):
        load_study(study).settings(words.replace("{EXAMPLES}", EXAMPLES).split())
