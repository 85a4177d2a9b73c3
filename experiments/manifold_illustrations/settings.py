"""Settings of the illustrations. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc_pipeline.settings import CaseSettings, SettingsError, setting


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: trajectories near a fibre, chains on one with two branches, checks of algebra, costs, or an image."""

    design: str = setting(
        "trajectory",
        "what is run",
        ("trajectory", "branches", "identities", "costs", "undivided", "small_noise", "in_painting"),
    )
    tolerance: float = setting(0.05, "of the Gaussian kernel (trajectory, identities)", (1e-4, 10.0))
    leapfrog_step_size: float = setting(0.04, "leapfrog step (design trajectory)", (1e-6, 10.0))
    n_leapfrog_steps: int = setting(24, "leapfrog steps (design trajectory)", (1, 10_000))
    n_momenta: int = setting(1000, "trajectories, each with its own momentum (design trajectory)", (2, None))
    step_size: float = setting(0.4, "constrained step (design branches)", (1e-6, 10.0))
    noise_scales: list[float] = setting([0.25, 0.5, 1.0, 2.0], "scales (branches, identities)", (1e-3, 1e2))
    n_simulations: int = setting(200_000, "simulations of rejection (design identities)", (1000, 10_000_000))
    inner_steps: list[int] = setting([1, 3], "numbers of sub-steps, factors of 18 (design costs)", (1, 18))
    n_cost_draws: int = setting(200, "main iterations for each number of sub-steps (costs)", (20, None))
    larger_models: bool = setting(True, "time the check on larger models too (design costs)", added=True)
    dense_sizes: list[int] = setting(
        [200, 400, 800, 1600], "sizes of Gram matrices with dense algebra (design costs)", (10, 10_000)
    )
    structured_sizes: list[int] = setting(
        [1000, 10_000, 100_000], "sizes of Gram matrices with structured algebra (costs)", (10, 10_000_000)
    )
    n_painted: int = setting(
        30,
        "iterations of constrained HMC that are kept, and 40 times as many of HMC (in_painting)",
        (5, None),
    )
    small_noise_scales: list[float] = setting(
        [0.01, 0.02, 0.05, 0.1, 0.2], "noise scales of the comparison with HMC (small_noise)", (1e-4, None)
    )


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings."""
    if not settings.noise_scales:
        raise SettingsError("noise_scales must hold at least one value")
    for name in ("inner_steps", "dense_sizes", "structured_sizes", "small_noise_scales"):
        if len(set(getattr(settings, name))) < 2:
            raise SettingsError(f"{name} must hold at least two different values")
    for number in settings.inner_steps:
        if 18 % number:
            raise SettingsError(f"inner_steps must be factors of 18 (1, 2, 3, 6, 9, 18), got {number}")
