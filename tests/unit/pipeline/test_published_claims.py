"""Every published claim follows from the published tables."""

import numpy as np
import pandas as pd
import pytest

from auxmc.driver.results import read_table
from auxmc_pipeline.catalogue import load_study, studies
from auxmc_pipeline.judging.published import PUBLISHED
from auxmc_pipeline.judging.study_tables import judge_study
from auxmc_pipeline.named_tables import NamedTables, read_named_tables
from auxmc_pipeline.tables import Tables


@pytest.mark.slow
@pytest.mark.parametrize("name", studies())
def test_claims_measured_again_in_published_tables_are_those_that_were_published(name: str) -> None:
    study, folder = load_study(name), PUBLISHED / "paper" / name
    tables: Tables | NamedTables
    if study.has_named_tables:
        tables = read_named_tables(folder / "tables")
    else:
        tables = Tables.of(read_table(folder / "summary.parquet"), read_table(folder / "curves.parquet"))
    line = ["claim_id", "setting"]
    judged = judge_study(study, tables).set_index(line)
    kept = pd.read_csv(folder / "claims.csv").set_index(line)
    assert set(judged.index) == set(kept.index)
    for column in ("measured", "monte_carlo_error"):
        values, expected = judged.loc[kept.index, column], kept[column]
        np.testing.assert_allclose(values.astype(float), expected, rtol=1e-9, err_msg=column)
