"""Bands, measures and lines of claims that were changed after a result had been seen."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from auxmc_pipeline.catalogue import STUDIES, Study

COLUMNS = [
    "claim_id", "setting", "date", "commit", "change", "old_low", "old_high", "new_low", "new_high", "measured",
    "error", "old_verdict", "new_verdict", "reason",
]  # fmt: skip
"""Columns of a study's `band_history.csv`: a line for each change, in nats and the like as in `claims.csv`."""

_LINE, _BOUNDS = ["claim_id", "setting"], ["low", "high"]


def read_band_history(study: Study) -> pd.DataFrame:
    """Changes of a study's claims [change], with the columns of COLUMNS; raises ValueError if one has no reason."""
    path = STUDIES / study.folder / "band_history.csv"
    if not path.is_file():
        return pd.DataFrame(columns=COLUMNS)
    text = ["claim_id", "setting", "date", "commit", "change", "old_verdict", "new_verdict", "reason"]
    history = pd.read_csv(path, dtype=dict.fromkeys(text, "str"))
    history[text] = history[text].fillna("")
    if list(history) != COLUMNS:
        raise ValueError(
            f"{path}: expected the columns {', '.join(COLUMNS)}, got {', '.join(map(str, history))}"
        )
    if (history["reason"] == "").any():
        raise ValueError(f"{path}: expected a reason for every change, got none for one of them")
    return history


def describe_change(change: Mapping[Hashable, Any]) -> str:
    """Returns a sentence that says what was changed, with both bands and both verdicts."""
    bands = [_band(change[f"{when}_low"], change[f"{when}_high"]) for when in ("old", "new")]
    verdicts = [change[f"{when}_verdict"] or "no line" for when in ("old", "new")]
    moved = f" from {bands[0]} to {bands[1]}" if "band" in change["change"] else ""
    commit = f", {change['commit']}" if change["commit"] else ""
    is_known = math.isfinite(change["measured"])
    measured = f", measured {change['measured']:.4g} +- {change['error']:.2g}" * is_known
    return (
        f"{change['date']}{commit}: {change['change']}{moved}{measured}; {verdicts[0]} before, "
        f"{verdicts[1]} after. {change['reason']}."
    )


def _band(low: float, high: float) -> str:
    return f"[{low:.4g}, {high:.4g}]".replace("[nan", "(-inf").replace("nan]", "inf)")


def unexplained_bands(kept: pd.DataFrame, claims: pd.DataFrame, history: pd.DataFrame) -> list[str]:
    """Lines whose band is not the one of the `kept` results that they were judged by, and that no change explains."""
    both = kept[[*_LINE, *_BOUNDS]].merge(claims[[*_LINE, *_BOUNDS]], on=_LINE, suffixes=("_kept", ""))
    explained = history[[*_LINE, "new_low", "new_high"]].set_axis([*_LINE, *_BOUNDS], axis=1)
    now, before, told = (
        table.assign(**{bound: table[f"{bound}{end}"].map("{:.6g}".format) for bound in _BOUNDS})
        for table, end in ((both, ""), (both, "_kept"), (explained, ""))
    )
    known = set(map(tuple, told.to_numpy()))
    changed = now[(now[_BOUNDS] != before[_BOUNDS]).any(axis=1)]
    rows = map(tuple, changed[[*_LINE, *_BOUNDS]].to_numpy())
    return [f"{row[0]}, {row[1]}" for row in rows if row not in known]
