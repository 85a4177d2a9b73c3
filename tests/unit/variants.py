"""A variant of a study for tests, in place of those that it has."""

import re
import shutil

from auxmc_pipeline.catalogue import ROOT


def set_variant(studies, study, name, settings):
    """Writes settings of a study into a folder of studies, with one variant, of settings in YAML."""
    text = (ROOT / "experiments" / study / "config.yaml").read_text()
    others = re.sub(r"(?ms)^variants:.*?(?=^\S|\Z)", "", text)
    (studies / study).mkdir(parents=True)
    shutil.copy(ROOT / "experiments" / study / "captions.toml", studies / study)
    (studies / study / "config.yaml").write_text(f"{others}\nvariants:\n  {name}: {settings}\n")
