"""Settings of the generalised lambda study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses
from typing import NamedTuple

from auxmc.data.tables import read_matrix
from auxmc.errors import DataError
from auxmc_pipeline.settings import CaseSettings, SettingsError, setting

METHODS = ("modified_abc", "constrained_hmc", "abc_hmc", "rmhmc")


class Row(NamedTuple):
    """A row of the figures."""

    case: str  # name of the case
    name: str  # what claims call it
    label: str  # what figures call it
    target: str  # name of its reference posterior
    colour: str  # of the method in every figure


ROWS = (  # in the order of the published figures, with colours of Okabe and Ito
    Row("modified_abc", "modified ABC", r"modified ABC, $\epsilon$ = 0.1", "cube_0.1", "#0072B2"),
    Row("constrained_hmc", "constrained HMC", "constrained HMC", "exact", "#009E73"),
    Row("abc_hmc_005", "ABC HMC 0.05", r"ABC HMC, $\epsilon$ = 0.05", "gaussian_0.05", "#56B4E9"),
    Row("abc_hmc_025", "ABC HMC 0.25", r"ABC HMC, $\epsilon$ = 0.25", "gaussian_0.25", "#D55E00"),
)

CASE_NAMES = {row.case: row.name for row in ROWS}

PARAMETERS = ("z1", "z2", "z3", "z4")
GENERATING = {"z1": 5.0, "z2": 1.0, "z3": 0.4, "z4": -0.1}  # Parameters that generated the data
DATA_SEED = 20170628  # Seed that gives the published data


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: chains of one method under one or more priors, or the reference posteriors."""

    design: str = setting(
        "chains",
        "chains of a method, or reference posteriors and facts of the prior",
        ("chains", "reference"),
    )
    data: str = setting("", "CSV file with one column of your own observations; empty for the published data")
    data_seed: int = setting(
        DATA_SEED, "seed of the simulated data; that of the published data by default", (0, 2**32 - 1)
    )
    n_data: int = setting(250, "simulated observations", (2, 100_000))
    prior: str = setting(
        "strong",
        "strong: sd 1 and rate 1; weak: sd 10 and rate 0.1; own: prior_sd and prior_rate",
        ("strong", "weak", "own"),
    )
    prior_sd: float = setting(1.0, "standard deviation of z1, z3 and z4 (prior=own)", (1e-6, 1e6))
    prior_rate: float = setting(1.0, "rate of the exponential distribution of z2 (prior=own)", (1e-6, 1e6))
    method: str = setting("constrained_hmc", "transition operator", METHODS)
    tolerance: float = setting(
        0.1,
        "half side of the cube (modified_abc) or standard deviation of the normal distribution (abc_hmc, rmhmc)",
        (1e-6, 1e6),
        unit="units of the data",
    )
    step_size: float = setting(
        0.6,
        "integrator step (constrained_hmc, abc_hmc, rmhmc) or half side of the cube of proposals (modified_abc)",
        (1e-9, 1e3),
    )
    step_unit: str = setting("absolute", "step_size itself, or over the tolerance", ("absolute", "tolerance"))
    min_steps: int = setting(5, "fewest integrator steps of a trajectory", (1, 100_000))
    max_steps: int = setting(10, "most integrator steps of a trajectory", (1, 100_000))
    n_inner_steps: int = setting(4, "geodesic sub-steps of an integrator step (constrained_hmc)", (1, 1000))
    n_bisections: int = setting(16, "halvings for each end of a bracket (modified_abc)", (1, 50))
    n_warm_up: int = setting(200, "iterations of warm-up, not counted in n_draws", (0, 10_000_000))
    warm_up_step_size: float = setting(0.05, "step size during warm-up", (1e-9, 1e3))
    warm_up_steps: int = setting(2, "integrator steps during warm-up", (1, 100_000))
    start: str = setting(
        "prior",
        "first parameters: prior draws that can generate the data, or draws from the exact posterior",
        ("prior", "posterior"),
    )
    gaussian_tolerances: list[float] = setting(
        [0.05, 0.25], "tolerances of the Gaussian kernel (design reference); may be empty", (1e-3, 1e6)
    )
    limit_tolerances: list[float] = setting(
        [0.025, 0.05, 0.1, 0.2],
        "tolerances at which the approach to the exact posterior is measured (design reference); may be empty",
        (1e-3, 1e6),
    )
    n_walkers: int = setting(32, "walkers of a reference posterior, an even number", (8, 10_000))
    n_burn_in: int = setting(250, "discarded iterations of a reference posterior", (10, 1_000_000))
    n_prior_draws: int = setting(10_000, "data sets from the prior (design reference)", (100, 10_000_000))


def batch_values(settings: Settings, name: str) -> list[float] | list[str]:
    """Values of a setting that a case runs: those of the batch, or the one value."""
    return settings.batch.get(name, [getattr(settings, name)])


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings, and DataError for a file that cannot be used."""
    if settings.design == "reference" and set(settings.batch) - {"prior"}:
        raise SettingsError("design=reference runs together only priors: batch.prior")
    if settings.min_steps > settings.max_steps:
        raise SettingsError(
            f"min_steps must be at most max_steps, got {settings.min_steps} and {settings.max_steps}"
        )
    if settings.n_walkers % 2:
        raise SettingsError(f"n_walkers must be even, got {settings.n_walkers}")
    if settings.step_unit == "tolerance" and settings.method == "constrained_hmc":
        raise SettingsError(
            "step_unit=tolerance needs a method with a tolerance: modified_abc, abc_hmc or rmhmc"
        )
    if "n_bisections" in settings.batch and settings.method != "modified_abc":
        raise SettingsError(f"batch.n_bisections: method={settings.method} makes no bisections")
    if "tolerance" in settings.batch and settings.method == "constrained_hmc":
        raise SettingsError("batch.tolerance: method=constrained_hmc has no tolerance")
    if settings.data:
        columns = read_matrix(settings.data).shape[1]
        if columns != 1:
            raise DataError(f"{settings.data}: has {columns} columns, needs one column of observations")
