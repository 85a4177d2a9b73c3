"""Bands of claims do not change unsaid."""

import pandas as pd
import pytest

from auxmc_pipeline.catalogue import load_study, studies
from auxmc_pipeline.judging.band_history import read_band_history, unexplained_bands
from auxmc_pipeline.judging.published import PUBLISHED, published_presets
from auxmc_pipeline.judging.study_tables import claims_of


@pytest.mark.parametrize("preset", published_presets())
@pytest.mark.parametrize("name", studies())
def test_bands_of_kept_results_have_changed_with_a_reason_alone(name, preset):
    study = load_study(name)
    kept = pd.read_csv(PUBLISHED / preset / name / "claims.csv")
    assert unexplained_bands(kept, claims_of(study), read_band_history(study)) == []


def test_a_band_that_moved_without_an_entry_is_named():
    kept = pd.DataFrame(
        {"claim_id": ["A", "B"], "setting": ["x", "y"], "low": [1.0, None], "high": [None, 2.0]}
    )
    moved = kept.assign(high=[3.0, 2.0])
    entry = {"claim_id": "A", "setting": "x", "new_low": 1.0, "new_high": 3.0}
    other = entry | {"new_high": 4.0}
    assert unexplained_bands(kept, kept, pd.DataFrame([other])) == []
    assert unexplained_bands(kept, moved, pd.DataFrame([other])) == ["A, x"]
    assert unexplained_bands(kept, moved, pd.DataFrame([entry])) == []
