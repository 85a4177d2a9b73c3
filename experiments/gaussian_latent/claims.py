"""Measures the published claims PM-G01 to PM-G29, PM-T01 and PM-T04 to PM-T06 from the study's tables."""

from experiments.gaussian_latent import (
    claims_acceptance,
    claims_efficiency,
    claims_exactness,
    claims_mixing,
    claims_tuning,
)

_TOPICS = {
    **claims_exactness.MEASURE,
    **claims_efficiency.MEASURE,
    **claims_tuning.MEASURE,
    **claims_acceptance.MEASURE,
    **claims_mixing.MEASURE,
}

# The thesis makes its claims method by method, so that a topic's claims are not next to one another.
MEASURE = {claim: _TOPICS[claim] for claim in sorted(_TOPICS)}
