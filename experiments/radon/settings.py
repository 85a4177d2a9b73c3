"""Settings of the grouped regression study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses
import os
from pathlib import Path

from auxmc_pipeline.settings import CaseSettings, SettingsError, setting
from experiments.radon.grouped import RADON_COLUMNS, GroupedColumns, read_grouped

_PUBLISHED_PATH = Path("continuous_tempering") / "radon" / "radon-group.npz"


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: a variational base, and one method that goes from it to the posterior."""

    method: str = setting(
        "nuts",
        "sampler: NUTS or HMC with the temperature as a coordinate, HMC with Gibbs updates of it, or annealed runs; or "
        "as many variational fits as there are chains, and no sampler",
        ("nuts", "gibbs_ct", "ct_hmc", "ais", "fits"),
    )
    parametrisation: str = setting(
        "non_centred", "of intercepts and coefficients: standardised or not", ("non_centred", "centred")
    )
    optimiser: str = setting(
        "published", "of the fit: windowed Adagrad, or Adam with a decaying rate", ("published", "adam")
    )
    fit_rate: float = setting(1e-3, "rate of the optimiser", (1e-8, 10.0))
    n_fit_steps: int = setting(30_000, "steps of the variational fit", (200, 10_000_000))
    n_fit_draws: int = setting(1, "draws in a step of the variational fit", (1, 10_000))
    n_bound_draws: int = setting(10_000, "draws that evaluate the final lower bound", (100, 100_000_000))
    start: str = setting(
        "base",
        "of chains (nuts): draws of the base and of the control; or, as the author's notebook starts them, the scales "
        "at the medians of their priors and the control at 0",
        ("base", "notebook"),
        added=True,
    )
    n_warm_up: int = setting(100, "iterations that adapt the step size (nuts); all count", (0, 100_000_000))
    target_acceptance: float = setting(0.8, "mean acceptance rate of the adapted steps (nuts)", (0.01, 0.99))
    initial_step: float = setting(0.25, "first step size times dim ** 0.25 (nuts)", (1e-6, 100.0))
    max_doublings: int = setting(10, "largest number of doublings of a trajectory (nuts)", (1, 20))
    control_inverse_mass: float = setting(25.0, "of the temperature control (nuts, ct_hmc)", (1e-6, 1e6))
    step_size: float = setting(
        0.2, "in units of the base's sds (gibbs_ct, ct_hmc) or of the parameters (ais)", (1e-6, 100.0)
    )
    n_steps: int = setting(20, "leapfrog steps of an update (gibbs_ct, ct_hmc, ais)", (1, 10_000))
    n_temperatures: int = setting(10_000, "intervals of the ladder of temperatures (ais)", (1, 10_000_000))
    data: str = setting("", "CSV file with your own rows, each with its group; empty for the radon data")
    outcome: str = setting("", "column of the outcome (with data)")
    group: str = setting("", "column that names the group of a row (with data)")
    row_regressors: list[str] = setting([], "columns that may differ within a group (with data)")
    group_regressors: list[str] = setting([], "columns with one value in each group (with data)")
    model: str = setting("intercepts", "what varies between groups", ("intercepts",), added=True)
    prior_scale: float = setting(2.5, "of the half-Cauchy priors, in units of the outcome", (1e-6, 1e6))


def columns(settings: Settings) -> GroupedColumns:
    """Columns of the user's file, or of the radon data."""
    if not settings.data:
        return RADON_COLUMNS
    return GroupedColumns(
        settings.outcome, settings.group, settings.row_regressors, settings.group_regressors
    )


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings, and DataError for a file that cannot be used."""
    if settings.method == "nuts" and settings.n_warm_up > settings.n_draws:
        raise SettingsError(f"n_warm_up must be at most n_draws={settings.n_draws}, got {settings.n_warm_up}")
    named = [name for name in GroupedColumns._fields if getattr(settings, name)]
    if named and not settings.data:
        raise SettingsError(f"{named[0]} names columns of your own data file: give data=FILE.csv too")
    if settings.data:
        for name in ("outcome", "group"):
            if not getattr(settings, name):
                raise SettingsError(f"{name} is empty: name the column of {settings.data} that holds it")
        read_grouped(settings.data, columns(settings))


def published_file() -> Path | None:
    """The published data file under $AUXMC_DATA_DIR, where that is set and has it."""
    folder = os.environ.get("AUXMC_DATA_DIR")
    file = Path(folder) / _PUBLISHED_PATH if folder else None
    return file if file is not None and file.is_file() else None


def data_files(settings: Settings) -> list[str]:
    """Files whose content the result depends on."""
    if settings.data:
        return [settings.data]
    published = published_file()
    return [str(published)] if published else []
