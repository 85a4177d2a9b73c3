"""Published values for figures: looked up by claim and setting, and nowhere else."""

import csv
import math

import pytest

from auxmc_pipeline.catalogue import STUDIES, studies
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.needs import number
from auxmc_pipeline.published_values import COLUMNS, EXTRA, published_series, published_value

EXTRAS = sorted(path.parent.name for path in STUDIES.glob(f"*/{EXTRA}"))


@pytest.mark.parametrize("study", studies())
def test_values_are_those_of_the_claims(study):
    with (STUDIES / study / "claims.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["document"]]
    names = {document.key: document.name for document in read_documents()}
    for row in rows:
        key = row["claim_id"], row["setting"]
        if math.isfinite(number(row["published"])):
            found = published_value(study, *key)
            assert (found.value, found.document, found.key) == (
                float(row["published"]),
                names[row["document"]],
                key,
            )
        else:
            with pytest.raises(LookupError, match="no number is published"):
                published_value(study, *key)


@pytest.mark.parametrize("study", EXTRAS)
def test_further_values_are_numbers_of_documents_that_no_claim_has(study):
    with (STUDIES / study / EXTRA).open(newline="") as file:
        reader = csv.DictReader(file)
        assert tuple(reader.fieldnames or ()) == COLUMNS
        rows = list(reader)
    with (STUDIES / study / "claims.csv").open(newline="") as file:
        claims = list(csv.DictReader(file))
    keys = [(row["claim_id"], row["setting"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert not set(keys) & {(row["claim_id"], row["setting"]) for row in claims}
    assert {row["claim_id"] for row in rows} <= {row["claim_id"] for row in claims}
    for row in rows:
        found = published_value(study, row["claim_id"], row["setting"])
        assert "" not in (found.document, row["place"], row["quantity"])
        assert math.isnan(found.low) == math.isnan(found.high)
        assert math.isnan(found.low) or found.low <= found.value <= found.high


def test_curves_of_the_thesis_are_found_by_figure_and_name():
    assert EXTRAS
    curve = published_series("gp_probit", "3.11a", "apm_ss_ss")
    assert curve.x.tolist() == list(range(1, 11))
    assert ((curve.low < curve.y) & (curve.y < curve.high)).all()
    with pytest.raises(LookupError, match=r"figure 3.11a, 'hmc': expected a curve of .*published_curves.csv"):
        published_series("gp_probit", "3.11a", "hmc")
