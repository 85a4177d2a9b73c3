"""Measures the published claims SE-19, SE-20, SE-24, SE-25, SE-30 and SE-32 to SE-94 from the study's tables."""

from experiments.streaming_evidence import (
    claims_annealed,
    claims_evidence,
    claims_non_stationary,
    claims_sensitivity,
)

MEASURE = {
    **claims_evidence.MEASURE,
    **claims_annealed.MEASURE,
    **claims_non_stationary.MEASURE,
    **claims_sensitivity.MEASURE,
}
