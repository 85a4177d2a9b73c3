"""Settings of the Gaussian latent study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses
from typing import Any

from auxmc.data.tables import read_matrix
from auxmc_pipeline.settings import CaseSettings, SettingsError, setting

METHODS = (
    "pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_mi_ss", "apm_ss_ss", "cpm_mh", "apm_cn_mh", "apm_rw_mh", "pm_hmc",
)  # fmt: skip
STEPPING_METHODS = ("cpm_mh", "apm_cn_mh", "apm_rw_mh")  # Proposals of u have a step size
# Methods that the thesis names and does not run.
RIVAL_CASES = {
    "cpm_mh": "correlated",
    "apm_cn_mh": "crank_nicolson",
    "apm_rw_mh": "walk_of_u",
    "pm_hmc": "joint_hmc",
    **dict.fromkeys(("pm_mh", "apm_mi_mh", "apm_ss_mh"), "fresh_u"),
}
DATASETS = ("calibrated", "as_stated")
SIZES = (1, 8, 32)  # Numbers of importance samples, N in the thesis
TARGET_ACCEPTANCE = 0.234  # The thesis tunes the step size of APM MI+MH by it (section 3.6.1.2)
# Step sizes of long chains, by method and N (thesis, captions of figures 3.4 and 3.6).
BEST_STEP = {"pm_mh": {1: 0.55, 8: 0.375, 32: 0.4}, "apm_mi_mh": {1: 0.425, 8: 0.425, 32: 0.425}}
BATCHABLE = ("step_size", "bracket_width", "auxiliary_step")


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: methods at some numbers of importance samples on one data set."""

    design: str = setting(
        "sweep",
        "sweep: efficiency; long: traces, histograms, error; estimator: noise of the log estimate over n_draws "
        "draws; checks: that noise on both data sets, and exactness checks of sample size n_draws",
        ("sweep", "long", "estimator", "checks"),
    )
    dataset: str = setting("calibrated", "simulated data set", ("calibrated", "as_stated"))
    data: str = setting("", "CSV file with your own observations, one a row; empty for the simulated data")
    method: str = setting("apm_mi_mh", "transition operator", METHODS)
    n_importance: int = setting(1, "importance samples in one density estimate", (1, 100_000))
    step_size: float = setting(
        0.425, "random-walk step size (methods ending in mh), or that of the integrator (pm_hmc)", (1e-6, 1e3)
    )
    auxiliary_step: float = setting(
        0.5,
        "step size of u: lambda of equation 3.20 (cpm_mh, apm_cn_mh), sd of the random walk (apm_rw_mh)",
        (1e-6, 1.0),
        added=True,
    )
    n_integration_steps: int = setting(
        4,
        "largest number of integration steps, a uniform draw from half of it on (pm_hmc)",
        (1, 1000),
        added=True,
    )
    bracket_width: float = setting(4.0, "initial bracket (methods ending in ss)", (1e-6, 1e3))
    n_evaluations: int = setting(
        0,
        "density evaluations of a long chain, about: sets its iterations (design long); 0 for n_draws iterations",
        (0, None),
    )
    noise: str = setting("gaussian", "distribution of the observation noise", ("gaussian",), added=True)
    record_accuracy: bool = setting(
        False,
        "also the sd of the log estimate over n_draws draws, and errors of chain means (design sweep)",
        added=True,
    )
    record_auxiliary: bool = setting(False, "also record the auxiliary variable u[0, 0, 0] (design long)")
    sd_latent: float = setting(1.0, "standard deviation of the latents", (1e-6, None))
    sd_observation: float = setting(2.0, "standard deviation of the observation noise", (1e-6, None))
    n_observations: int = setting(10, "observations in the simulated data", (1, None))
    dim: int = setting(10, "dimension of the simulated data", (1, None))


def programs(settings: Settings) -> list[tuple[str, int]]:
    """Methods and numbers of importance samples that a case runs, one compiled program each."""
    methods = settings.batch.get("method", [settings.method])
    sizes = settings.batch.get("n_importance", [settings.n_importance])
    return [(method, size) for method in methods for size in sizes]


def scale_name(method: str) -> str:
    """The setting that tunes the update of x in a method."""
    return "bracket_width" if method.endswith("ss") else "step_size"


def swept_scales(settings: Settings, method: str) -> dict[str, list[float]]:
    """Values of the settings that tune a method, by name."""
    names = [scale_name(method)]
    if {*STEPPING_METHODS} & {other for other, _ in programs(settings)}:
        names.append("auxiliary_step")
    swept = {name: settings.batch.get(name, [getattr(settings, name)]) for name in names}
    # One value stands for all where it does not matter.
    return swept if method in STEPPING_METHODS else swept | {name: swept[name][:1] for name in names[1:]}


def program_rows(method: str, n_importance: int, dataset: str = "calibrated") -> dict[str, Any]:
    """Where the tables have the sweep of a method."""
    case = "two_samples" if n_importance == 2 else "apm_slice" if method.endswith("_ss") else method
    case = dataset if dataset == "as_stated" else case
    return {"case": case, "method": method, "n_importance": n_importance}


def long_case(method: str, n_importance: int) -> dict[str, Any]:
    """Where the tables have the long chains of PM MH or APM MI+MH."""
    case = f"long_{method}_{n_importance}" if method == "pm_mh" else f"long_{method}"
    return {"case": case, "n_importance": n_importance}


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings, and DataError for a file that cannot be used."""
    tuned = {scale_name(method) for method, _ in programs(settings)}
    if settings.design in ("sweep", "long"):
        if len(tuned) > 1:
            raise SettingsError("batch.method: methods ending in mh and in ss cannot run in one case")
        tuned = {name for method, _ in programs(settings) for name in swept_scales(settings, method)}
        for other in sorted({*BATCHABLE} - tuned):
            if other in settings.batch:
                raise SettingsError(
                    f"batch.{other}: method={programs(settings)[0][0]} is tuned by {' and '.join(sorted(tuned))}"
                )
    if settings.record_accuracy and settings.design != "sweep":
        raise SettingsError("record_accuracy=true needs design=sweep")
    if settings.record_auxiliary and settings.design != "long":
        raise SettingsError("record_auxiliary=true needs design=long")
    if settings.data:
        read_matrix(settings.data)
        if settings.design == "checks":
            raise SettingsError("design=checks uses simulated data: leave data empty, or use another design")
