"""Measures the published claims IM-GL-01 to IM-GL-21 and IM-ALG-02 to IM-ALG-14 from the study's tables."""

from experiments.generalised_lambda import (
    claims_efficiency,
    claims_posterior,
    claims_reference,
    claims_transitions,
)

_BY_TOPIC = {
    **claims_posterior.MEASURE,
    **claims_efficiency.MEASURE,
    **claims_transitions.MEASURE,
    **claims_reference.MEASURE,
}

# Claims about algorithms, which other studies measure too, come after those about this model.
MEASURE = {
    claim: _BY_TOPIC[claim]
    for claim in sorted(_BY_TOPIC, key=lambda claim: (claim.startswith("IM-ALG"), claim))
}
