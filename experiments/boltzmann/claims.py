"""Measures the published claims CT-B01 to CT-B23, CT-T06, CT-T17, CT-T23 and CT-T24 from the study's tables."""

from experiments.boltzmann import claims_chains, claims_comparisons, claims_figure, claims_systems

_BY_TOPIC = {
    **claims_systems.MEASURE,
    **claims_comparisons.MEASURE,
    **claims_figure.MEASURE,
    **claims_chains.MEASURE,
}

MEASURE = {claim: _BY_TOPIC[claim] for claim in sorted(_BY_TOPIC)}
