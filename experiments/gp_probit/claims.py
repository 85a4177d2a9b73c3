"""Measures the published claims PM-P01 to PM-P20 from the study's tables."""

from experiments.gp_probit import claims_convergence, claims_efficiency, claims_estimator, claims_sticking

_BY_TOPIC = {
    **claims_estimator.MEASURE,
    **claims_efficiency.MEASURE,
    **claims_convergence.MEASURE,
    **claims_sticking.MEASURE,
}

# In the order of the ids, which follow the section: it returns to its topics.
MEASURE = {claim: _BY_TOPIC[claim] for claim in sorted(_BY_TOPIC)}
