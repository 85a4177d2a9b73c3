"""Settings of the estimator illustrations. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc_pipeline.settings import CaseSettings, SettingsError, setting


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: Markov kernels on Gaussian targets, or estimators of an evidence that is known."""

    design: str = setting("kernels", "what is run", ("kernels", "evidence", "exact_moves"))
    correlation: float = setting(0.9, "in the target of figures 2.1, 2.2 (design kernels)", (-0.999, 0.999))
    n_evaluations_shown: int = setting(200, "evaluations of a drawn chain (design kernels)", (10, 10_000))
    random_walk_scale: float = setting(0.2, "sd of the random walk's proposal (kernels)", (1e-6, 100.0))
    leapfrog_step: float = setting(0.15, "leapfrog step (design kernels)", (1e-6, 100.0))
    n_leapfrog: int = setting(10, "leapfrog steps of an update (design kernels)", (1, 1000))
    n_steps_shown: int = setting(500, "steps of a chain drawn in figure 2.2 (design kernels)", (10, 100_000))
    gradient_step: float = setting(0.01, "eta of the chains of figure 2.2 (design kernels)", (1e-9, 0.3))
    friction: float = setting(0.1, "alpha of the Hamiltonian chain (design kernels)", (1e-6, 1.0))
    gradient_variance: float = setting(1.0, "variance of the gradient's noise (design kernels)", (0.0, 1e6))
    naive_noise: list[float] = setting(
        [4.0, 400.0], "variances of the gradient's noise in naive HMC (design kernels)", (0.0, 1e6)
    )
    batch_rows: list[int] = setting(
        [200, 2000, 20_000, 200_000], "rows that mini-batches are drawn from (kernels)", (10, 10_000_000)
    )
    n_batch_draws: int = setting(2000, "steps of chains with mini-batches (kernels)", (100, 100_000_000))
    n_samples: int = setting(10, "prior or posterior draws of one estimate (design evidence)", (1, 1000))
    n_replicates: int = setting(
        1_000_000, "estimates by prior averaging and by harmonic means (design evidence)", (2000, 100_000_000)
    )
    n_bins: int = setting(1000, "bins of the histograms (design evidence)", (10, 100_000))
    n_runs: int = setting(
        10_000, "runs of estimators with exact moves (evidence, exact_moves)", (100, 1_000_000)
    )
    n_sir_runs: int = setting(
        0, "runs of SIR; 0: n_runs (evidence, exact_moves)", (0, 100_000_000), added=True
    )
    exact_estimators: list[str] = setting(
        ["ais", "stream", "sir", "adaptive", "finely_adaptive"],
        "estimators that are run with exact moves: annealed importance sampling, a stream with fixed steps, SIR, and "
        "streams with steps adapted to effective sizes of 5 and of 8 particles out of 10 (evidence, exact_moves)",
        ("ais", "stream", "sir", "adaptive", "finely_adaptive"),
    )
    n_live: list[int] = setting(
        [2, 10, 50, 200], "live points of nested sampling, none to leave it out (evidence)", (2, 10_000)
    )
    nested_metropolis: bool = setting(True, "whether nested sampling rejects moves (design evidence)")
    n_nested_runs: int = setting(64, "nested sampling runs per number of live points (evidence)", (5, None))


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings."""
    for name in ("naive_noise", "batch_rows", "exact_estimators", "n_live"):
        values = getattr(settings, name)
        if len(set(values)) < len(values):
            raise SettingsError(f"{name} must hold different values, got {values}")
        if not values and name != "n_live":
            raise SettingsError(f"{name} must hold one value at least")
    if settings.n_evaluations_shown < 2 * settings.n_leapfrog:
        updates = f"at least two updates, 2 n_leapfrog = {2 * settings.n_leapfrog}"
        raise SettingsError(f"n_evaluations_shown must be {updates}, got {settings.n_evaluations_shown}")
    least = max(settings.n_steps_shown, settings.n_evaluations_shown, 100 * settings.n_leapfrog)
    if settings.n_draws < least:
        largest = "the largest of n_steps_shown, n_evaluations_shown and 100 n_leapfrog"
        raise SettingsError(f"n_draws must be at least {least}, {largest}, got {settings.n_draws}")
