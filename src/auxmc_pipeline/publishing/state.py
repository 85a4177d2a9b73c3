"""What the results of a study depend on at present, and how that differs from what a job was made with."""

from collections.abc import Mapping
from typing import Any

from auxmc_pipeline.catalogue import Study, identity_of

__all__ = ["Identities", "changed", "identities"]

Identities = Mapping[str, Mapping[str, str]]


def identities(study: Study, preset: str) -> dict[str, dict[str, str]]:
    """What the result of each case of a study depends on at present: digests `numbers`, `code`, `data`, by case."""
    found = {}
    for case in study.cases(preset):
        now = identity_of(study, case.settings)
        found[case.name] = {
            "numbers": str(now["numbers_digest"]),
            "code": str(now["code"]),
            "data": str(now["data"]),
        }
    return found


def changed(about: Mapping[str, Any], case: str, now: Identities) -> list[str]:
    """What a job was made with that differs from the present: of `settings`, `code`, `data`; or that its case is gone.

    Args:
        about: attributes of a result, or a row of `pieces.csv`.
        case: the case.
        now: of its study.
    """
    if case not in now:
        return ["case gone"]
    words = {"numbers": "settings", "code": "code", "data": "data"}
    return [word for name, word in words.items() if str(about.get(name, "nothing")) != now[case][name]]
