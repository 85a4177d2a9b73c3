"""Settings of the foundations. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc_pipeline.settings import CaseSettings, setting
from experiments.foundations.captions_chains import CAPTIONS as CHAINS
from experiments.foundations.captions_evidence import CAPTIONS as EVIDENCE
from experiments.foundations.captions_models import CAPTIONS as MODELS
from experiments.foundations.captions_numbers import CAPTIONS as NUMBERS

TITLE = "Foundations: algorithms and illustrations of the background chapters"
DOCUMENT = "PhD thesis"
SWEEP_QUANTITIES = ("measured",)
FIGURES: dict[str, str] = NUMBERS | CHAINS | EVIDENCE | MODELS


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: all claims and curves of one group of topics."""

    design: str = setting(
        "numbers", "which topics are computed", choices=("numbers", "chains", "evidence", "models")
    )
    effort: float = setting(
        1.0, "replicates run, as a share of the published numbers", minimum=1e-4, maximum=100.0
    )
