"""Settings of the illustrations. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc.engine.config import CaseSettings, SettingsError, setting

__all__ = ["BATCHABLE", "FIGURES", "SWEEP_QUANTITIES", "TITLE", "Settings", "check", "data_files"]

TITLE = "Illustrations of manifolds of inputs"
BATCHABLE: tuple[str, ...] = ()
SWEEP_QUANTITIES = ("branch_changes_per_iteration", "acceptance", "crossings", "net_over_path")
FIGURES: dict[str, str] = {
    "fig_4_3": "Two inputs with standard normal density and the fibre of one observation (dashed). Left: prior "
    "density of the inputs. Right: a leapfrog trajectory on the target of approximate Bayesian computation with a "
    "Gaussian kernel, which crosses the fibre again and again, and a constrained trajectory of the same integration "
    "time along it. One trajectory each, the first of those that were run: no bands.",
    "fig_4_4": "Left: the fibre of u1^2 - u2^2 = 1 has two branches; draws of one chain of constrained HMC, which "
    "never leaves the branch it began on. Middle: with noise added to the generator the fibre is one connected "
    "surface; its vertical axis is the noise term eps n (the published label says n / eps). Right: changes of branch "
    "per iteration against the noise scale, mean over chains, bars +- 1 standard error.",
    "fig_d_1": "Three densities of unit variance for random inputs: densities (left) and negative log densities in "
    "nats (right). Closed forms: no bands.",
}


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: trajectories near a fibre, or chains on one with two branches."""

    design: str = setting("trajectory", "what is run", choices=("trajectory", "branches"))
    tolerance: float = setting(
        0.05, "tolerance of the Gaussian kernel (design trajectory)", minimum=1e-4, maximum=10.0
    )
    leapfrog_step_size: float = setting(0.04, "leapfrog step (design trajectory)", minimum=1e-6, maximum=10.0)
    n_leapfrog_steps: int = setting(24, "leapfrog steps (design trajectory)", minimum=1, maximum=10_000)
    n_momenta: int = setting(1000, "trajectories, each with its own momentum (design trajectory)", minimum=2)
    step_size: float = setting(0.4, "constrained step (design branches)", minimum=1e-6, maximum=10.0)
    noise_scales: list[float] = setting(
        [0.25, 0.5, 1.0, 2.0], "noise scales eps (design branches)", minimum=1e-3, maximum=100.0
    )


def check(settings: Settings) -> None:
    """Rules across fields.

    Raises:
        SettingsError: settings that contradict each other.
    """
    if settings.batch:
        raise SettingsError(f"batch.{next(iter(settings.batch))}: this study sweeps over cases only")
    if not settings.noise_scales:
        raise SettingsError("noise_scales must hold at least one value")


def data_files(settings: Settings) -> list[str]:
    """Files whose content the result depends on: none."""
    del settings
    return []
