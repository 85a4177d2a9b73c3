"""A variant of a study for tests, in place of those that it has."""

import re


def set_variant(conf, study, name, settings):
    """Makes a variant, of settings in YAML, the only one of a study whose settings are in the folder `conf`."""
    file = conf / "study" / f"{study}.yaml"
    others = re.sub(r"(?ms)^variants:.*?(?=^\S|\Z)", "", file.read_text())
    file.write_text(f"{others}\nvariants:\n  {name}: {settings}\n")
