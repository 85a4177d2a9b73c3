"""Settings of the study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc_pipeline.settings import CaseSettings, setting


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: a kernel on the mixture."""

    kernel: str = setting("hmc", "transition operator", ("random_walk", "hmc"))
    step_size: float = setting(0.4, "of a proposal (random_walk) or a leapfrog step (hmc)", (1e-6, 100.0))
    n_steps: int = setting(5, "leapfrog steps of an update (hmc)", (1, 1000))
    weight: float = setting(0.7, "probability of the left mode", (0.0, 1.0))
    distance: float = setting(
        1.5, "of a mode from the origin, in standard deviations of a mode", (0.0, 100.0)
    )
