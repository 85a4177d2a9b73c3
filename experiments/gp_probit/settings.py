"""Settings of the Gaussian process probit study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc_pipeline.settings import CaseSettings, SettingsError, setting
from experiments.gp_probit.labelled import read_labelled

METHODS = (
    "pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_mi_ss", "apm_ss_ss", "cpm_mh", "apm_cn_mh", "apm_rw_mh", "pm_hmc",
)  # fmt: skip
MAIN_METHODS = ("pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_ss_ss")  # in the order of the published figures
RIVALS = ("cpm_mh", "apm_cn_mh", "pm_hmc")  # Methods that section 3.7 of the thesis names and does not run
OUTPUT_SCALE = "log_output_scale"  # first coordinate, the log prior variance of the latent function
AVERAGE = "mean over coordinates"  # The way to aggregate R-hat over coordinates that figure 3.11b draws


def main_case(method: str) -> str:
    """Name of the case that holds the main run of a method."""
    return f"main__method-{method}"


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: a method at one number of importance samples on one data set."""

    design: str = setting(
        "chains", "adapted chains, or the density estimator at posterior draws", ("chains", "estimator")
    )
    data: str = setting("", "CSV file with your own features and labels; empty for the breast cancer data")
    label: str = setting("", "column of the data file with the two classes; empty to choose by content")
    drop_first_complete_row: bool = setting(
        False,
        "leave out the first complete row of the breast cancer data, as the published run seems to have",
    )
    method: str = setting("apm_ss_mh", "transition operator", METHODS)
    n_importance: int = setting(50, "importance samples in one density estimate", (1, 10_000))
    step_size: float = setting(
        0.5, "initial random-walk step size (methods ending in mh), or that of the integrator", (1e-6, 100.0)
    )
    auxiliary_step: float = setting(
        0.5,
        "step size of u: lambda of equation 3.20 (cpm_mh, apm_cn_mh), sd of the random walk (apm_rw_mh)",
        (1e-6, 1.0),
        added=True,
    )
    n_integration_steps: int = setting(
        4, "most integration steps, a uniform draw from half of it on (pm_hmc)", (1, 1000), added=True
    )
    bracket_width: float = setting(4.0, "initial bracket of the slice (methods ending in ss)", (1e-6, 1000.0))
    batch_size: int = setting(100, "iterations in a batch of adaptation (methods ending in mh)", (1, 100_000))
    n_batches: int = setting(20, "batches of adaptation, the warm-up of methods ending in mh", (0, 10_000))
    n_warm_up_slice: int = setting(1000, "warm-up of methods without adaptation", (0, 1_000_000))
    n_reference_draws: int = setting(10, "draws of each reference chain (design estimator)", (1, 100_000))
    reference_spacing: int = setting(10, "iterations of a reference chain between two draws", (1, 100_000))
    n_weights: int = setting(5000, "importance weights at each draw (design estimator)", (2, 1_000_000))
    n_importance_grid: list[int] = setting(
        [1, 5, 10, 50, 100, 500], "numbers of importance samples (design estimator)", (1, 1_000_000)
    )
    fixed_step_sizes: list[float] = setting(
        [0.001, 0.01, 0.1],
        "step sizes of PM MH chains with one importance sample from posterior draws (design estimator)",
        (1e-6, 100.0),
    )
    n_fixed_step_draws: int = setting(200, "iterations of chains at fixed steps (estimator)", (10, 1_000_000))


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings, and DataError for a file that cannot be used."""
    if settings.label and not settings.data:
        raise SettingsError("label names a column of your own data: give data=FILE.csv too, or leave empty")
    if settings.drop_first_complete_row and settings.data:
        raise SettingsError("drop_first_complete_row is about the breast cancer data: not with your own")
    if settings.data:
        read_labelled(settings.data, settings.label)
    if settings.design == "estimator":
        for name in ("fixed_step_sizes", "n_importance_grid"):
            if not getattr(settings, name):
                raise SettingsError(f"{name} needs numbers with design=estimator, got an empty list")
        if 2 * max(settings.n_importance_grid) > settings.n_weights:
            raise SettingsError(
                f"n_weights must be at least twice the largest n_importance_grid ({max(settings.n_importance_grid)}), "
                f"so that there are two estimates to compare, got {settings.n_weights}"
            )
