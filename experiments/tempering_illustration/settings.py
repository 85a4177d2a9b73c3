"""Settings of the tempering illustrations. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc_pipeline.settings import CaseSettings, SettingsError, setting

INDEX_SLOPE, LEAST_EXPECTED = 1.5, 5.0
"""Slope of the log weights of an index, and fewest expected draws of a category of its test (design ladder)."""

INDEX_DRAWS_A_STATE = 5
"""Draws of an inverse temperature for each exact draw of the joint density (design kernels)."""


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: chains on a target with two modes, or quantities that need no chains."""

    design: str = setting(
        "bimodal",
        "chains on the target with two modes, moments by them, simulated tempering, weights of its states, checks of "
        "single steps and of annealed runs, or exact quantities and variational fits",
        ("bimodal", "moments", "ladder", "weights", "kernels", "exact"),
    )
    step_size: float = setting(1.0, "leapfrog step of all chains", (1e-6, 100.0))
    n_steps: int = setting(20, "leapfrog steps of an update", (1, 10_000))
    log_zetas: list[float] = setting(
        [-5.0, 0.0, 5.0],
        "guesses of the log normaliser, which is 0 (design bimodal); 0 must be one of them",
        (-100.0, 100.0),
        unit="nats",
    )
    n_hmc_chains: int = setting(100, "chains of HMC in the target (design bimodal)", (1, 100_000))
    n_annealed_temperatures: int = setting(
        10, "intervals of the longest ladder of annealed runs (design kernels)", (3, 1_000_000)
    )
    n_ladder: int = setting(20, "intervals of simulated tempering (ladder, weights)", (1, 100_000))
    passage_intervals: list[int] = setting(
        [10, 20, 40, 80], "intervals of the flat ladders that are crossed (design ladder)", (2, 10_000)
    )
    n_passage_chains: int = setting(
        0, "chains on each flat ladder (design ladder); 0: half of n_chains", (0, 100_000), added=True
    )
    n_passage_draws: int = setting(20_000, "updates of a chain on a flat ladder (ladder)", (100, 100_000_000))
    n_index_draws: int = setting(
        100_000,
        "draws of an index or of an inverse temperature for each energy difference (designs ladder, kernels), and "
        "annealed runs (design kernels)",
        (1000, None),
    )
    n_gradient_draws: int = setting(20_000, "draws of gradients of the bound (exact)", (100, 100_000_000))
    gradient_dim: int = setting(20, "dimension in which gradients are compared (design exact)", (1, 10_000))


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings."""
    if 0.0 not in settings.log_zetas:
        raise SettingsError(f"log_zetas must hold 0, the log normaliser itself, got {settings.log_zetas}")
    if len(set(settings.log_zetas)) < len(settings.log_zetas):
        raise SettingsError(f"log_zetas must be different values, got {settings.log_zetas}")
    if len(set(settings.passage_intervals)) < 2:
        raise SettingsError(
            f"passage_intervals must be at least two different values, got {settings.passage_intervals}"
        )
