"""Settings of the Boltzmann machine study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses
import os
from pathlib import Path

from auxmc.errors import DataError
from auxmc_pipeline.settings import CaseSettings, SettingsError, setting
from experiments.boltzmann.model.data import DATA_VARIABLE, N_SYSTEMS, published_shift_file, read_parameters

# The author's ten, of 30 units.
PUBLISHED_SYSTEMS = Path(__file__).with_name("published_systems.csv")
POOLINGS = ("disjoint", "nested", "single")
# Bases: published (equation 5.50), by section 5.5 (other divergence, EP, pilot run), and the exact limit.
BASES = ("mixture", "renyi", "ep", "pilot_zeta", "pilot", "exact")
PILOT_BASES = ("pilot_zeta", "pilot")


@dataclasses.dataclass(frozen=True)
class MethodSettings:
    """Numbers of one method."""

    length: int = 0  # iterations of a chain as published
    n_runs: int = 0  # annealed runs of an estimate as published
    step_size: float = 0.5  # of the leapfrog integrator
    n_steps: int = 20  # leapfrog steps of an update
    refreshment: float = 1.0  # of the momentum
    variational: str = "published"  # which mean-field fits make the base


# Thesis section 5.6.1 and the author's notebooks; `hmc` has the length of section 5.6.1, `tuned` is our own.
PUBLISHED: dict[str, MethodSettings] = {
    "st": MethodSettings(length=20_000),
    "gibbs_ct": MethodSettings(length=30_000),
    "ct_hmc": MethodSettings(length=25_000),
    "hmc": MethodSettings(length=5_000),
    "tuned": MethodSettings(length=24_000, variational="converged"),
    "h_ais": MethodSettings(n_runs=500, n_steps=1, refreshment=(1.0 - 0.5**0.5) ** 0.5),
    "ais_10": MethodSettings(n_runs=100, n_steps=10),
    "ais_20": MethodSettings(n_runs=100),
}
METHODS = tuple(PUBLISHED)
CHAIN_METHODS = ("st", "gibbs_ct", "ct_hmc", "hmc", "tuned")
ANNEALED_METHODS = ("h_ais", "ais_10", "ais_20")
TEMPERED_METHODS = ("st", "gibbs_ct", "ct_hmc", "tuned")


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: exact properties of the systems, or estimates by methods for one system."""

    design: str = setting(
        "estimates",
        "systems: exact properties, variational fits, exact samples; estimates: chains and annealed runs",
        ("systems", "estimates"),
    )
    method: str = setting("gibbs_ct", "how to estimate", METHODS)
    system: int = setting(0, "number of the author's file", (0, N_SYSTEMS - 1))
    n_systems: int = setting(10, "systems whose properties are found (design systems)", (1, 10))
    n_units: int = setting(30, "spins of a generated system", (4, 30))
    length: float = setting(0.0, "chain length as a part of the published one; 0 for n_draws", (0.0, 100.0))
    summary_size: int = setting(200, "iterations between two points of a running estimate", (1, 100_000))
    n_repeats: int = setting(10, "estimates, each from its own group of chains or runs", (2, 1000))
    n_runs: int = setting(0, "annealed runs of an estimate; 0 for the published number", (0, None))
    n_temperatures: int = setting(1000, "intervals K of the sigmoidal ladder (st, ais)", (1, 1_000_000))
    index_update: str = setting("independent", "update of the index (st)", ("independent", "random_walk"))
    step_size: float = setting(0.0, "leapfrog step; 0 for the published one", (0.0, 100.0))
    n_steps: int = setting(0, "leapfrog steps; 0 for the published number", (0, 10_000))
    refreshment: float = setting(0.0, "part of the momentum drawn again; 0 for the published", (0.0, 1.0))
    integrator: str = setting(
        "drift_kick_drift", "order of the parts of a leapfrog step", ("drift_kick_drift", "kick_drift_kick")
    )
    control_mass: float = setting(1.0, "mass of the temperature control (ct_hmc)", (1e-6, 1e6))
    start_control: float = setting(-10.0, "temperature control at the start (ct_hmc)", (-500.0, 500.0))
    variational: str = setting(
        "",
        "mean-field fits of the base: 1000 steps as published, or converged and distinct; empty for that of the method",
        ("", "published", "converged"),
    )
    base: str = setting(
        "mixture",
        "moments and log zeta of the base: of the mixture of fits, of minimal Renyi divergence, by expectation "
        "propagation, log zeta or all of a pilot run, or exact",
        BASES,
        added=True,
    )
    pilot_fraction: float = setting(
        0.2, "part of a run that a pilot takes (bases pilot and pilot_zeta)", (0.001, 0.9), added=True
    )
    n_fits: int = setting(100, "starts of mean-field fits", (1, 100_000))
    shift: str = setting(
        "optimal",
        "diagonal added to the weights: of the smallest largest eigenvalue, or the author's (needs AUXMC_DATA_DIR)",
        ("optimal", "published"),
    )
    n_exact_samples: int = setting(10_000, "points of figure 5.1 (design systems)", (10, 10_000_000))
    n_spectra: int = setting(1000, "further spectra drawn from the recipe (design systems)", (10, 1_000_000))
    data: str = setting("", "your own weights and biases, .npz or CSV; empty for a published system")


def programs(settings: Settings) -> list[tuple[str, int]]:
    """Methods and numbers of temperatures that a case runs, one compiled program each; 0 where there is no ladder."""
    pairs = []
    for method in settings.batch.get("method", [settings.method]):
        if method == "st" or method in ANNEALED_METHODS:
            pairs += [(method, k) for k in settings.batch.get("n_temperatures", [settings.n_temperatures])]
        else:
            pairs.append((method, 0))
    return pairs


def bases(settings: Settings) -> list[str]:
    """Bases that a case runs, one compiled program each."""
    return list(settings.batch.get("base", [settings.base]))


def method_settings(settings: Settings, method: str) -> MethodSettings:
    """Numbers of a method: those of the settings where they are given, else the published ones."""
    published = PUBLISHED[method]
    size = settings.summary_size
    length = settings.n_draws
    if settings.length:
        length = max(1, round(settings.length * published.length / size)) * size
    names = ("n_runs", "step_size", "n_steps", "refreshment", "variational")
    given = {name: value for name in names if (value := getattr(settings, name))}
    return dataclasses.replace(published, length=length, **given)


def pilot_blocks(settings: Settings, numbers: MethodSettings) -> int:
    """Blocks of iterations of a pilot run."""
    n_blocks = numbers.length // settings.summary_size
    return min(max(1, round(settings.pilot_fraction * n_blocks)), n_blocks - 1)


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings, and DataError for a file that is missing or cannot be used."""
    methods = [method for method, _ in programs(settings)]
    if settings.design == "estimates" and {*methods} & {*CHAIN_METHODS}:
        if settings.n_chains % settings.n_repeats:
            raise SettingsError(
                f"n_chains must be a multiple of n_repeats={settings.n_repeats}, so that each repeat has as many "
                f"chains, got {settings.n_chains}"
            )
        if not settings.length and settings.n_draws % settings.summary_size:
            raise SettingsError(
                f"n_draws must be a multiple of summary_size={settings.summary_size}, got {settings.n_draws}"
            )
    if bases(settings) != ["mixture"]:
        if other := sorted(set(methods) - set(TEMPERED_METHODS)):
            raise SettingsError(f"base: method={other[0]} has none; use {', '.join(TEMPERED_METHODS)}")
        if settings.data and "exact" in bases(settings):
            raise SettingsError("base=exact is known of the published systems alone: leave data empty")
        lengths = [method_settings(settings, method).length for method in methods]
        if {*bases(settings)} & {*PILOT_BASES} and min(lengths) <= settings.summary_size:
            raise SettingsError(f"base: a pilot run leaves nothing of {min(lengths)} iterations")
    if settings.shift == "published":
        if settings.data or settings.n_units != 30:
            raise SettingsError(
                "shift=published belongs to the published systems of 30 units: leave data empty and n_units at 30, "
                "or use shift=optimal"
            )
        published_shift_file()
    if settings.data:
        if settings.design == "systems":
            raise DataError("design=systems describes the published systems: leave data empty")
        read_parameters(settings.data)


def data_files(settings: Settings) -> list[str]:
    """Files whose content the result depends on."""
    files = [settings.data] if settings.data else []
    if settings.shift == "published" or (settings.design == "systems" and os.environ.get(DATA_VARIABLE)):
        files.append(str(published_shift_file()))
    return files + [str(PUBLISHED_SYSTEMS)] * (settings.design == "systems")
