"""Settings of the foundations. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc_pipeline.settings import CaseSettings, setting


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: all claims and curves of one group of topics."""

    design: str = setting("numbers", "which topics are computed", ("numbers", "chains", "evidence", "models"))
    effort: float = setting(1.0, "replicates run, as a fraction of the published numbers", (1e-4, 100.0))
