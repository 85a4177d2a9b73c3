"""Settings of the Lotka-Volterra study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses
import math
from typing import Any, NamedTuple

from auxmc.errors import DataError
from auxmc_pipeline.settings import CaseSettings, SettingsError, setting
from experiments.lotka_volterra.model.data import MIN_STEPS, read_populations

TOLERANCES: dict[str, tuple[float, ...]] = {  # published (section 4.10.2); 0 for exact conditioning
    "chmc_all": (0.0,),
    "chmc_all_dense": (0.0,),
    "chmc_teacher_forced": (0.0,),
    "chmc_summaries": (0.0,),
    "ss_ball": (10.0, 100.0),
    "ss_gaussian": (10.0,),
    "hmc_gaussian": (10.0,),
    "rmhmc_gaussian": (10.0,),
    "pm_ball": (math.sqrt(1000.0), 100.0, 1000.0),  # the first is the radius whose square is the last
    "pm_gaussian": (10.0, 100.0),
    "pm_summaries": (1.0,),
    "pm_summaries_raw": (2.5,),
}
METHODS = tuple(TOLERANCES)
COORDINATES = ("log z1", "log z2", "log z3", "log z4")  # Names of the log rates
EXACT_METHODS = ("chmc_all", "chmc_all_dense", "chmc_teacher_forced", "chmc_summaries")
SPARSE_METHODS = ("chmc_teacher_forced",)  # condition on sparse observations too
SUMMARY_METHODS = ("pm_summaries", "pm_summaries_raw")
FAILING_METHODS = ("pm_ball", "pm_gaussian")

STEP_SIZES: dict[str, tuple[float, ...]] = {  # published, first one of adapted steps; 0: nothing to tune
    **dict.fromkeys(EXACT_METHODS, (0.25,)),
    "ss_ball": (0.0,),
    "ss_gaussian": (0.0,),
    "hmc_gaussian": (2.5e-3,),
    "rmhmc_gaussian": (0.1,),
    **dict.fromkeys(FAILING_METHODS, (0.2, 0.05, 0.001)),
    **dict.fromkeys(SUMMARY_METHODS, (0.5,)),
}
TRIED_STEP_SIZES: dict[str, tuple[float, ...]] = {  # for the largest that accepts most proposals
    "chmc_all": (0.02, 0.25, 0.35, 0.5, 0.7, 1.0),  # 0.02: the usable step might be a small one
    "hmc_gaussian": (1e-3, 1.75e-3, 2.5e-3, 3.5e-3, 5e-3, 1e-2),
}
# Design tolerances: Gaussian kernels, and steps of the methods in multiples of the tolerance.
FALLING_TOLERANCES = (0.4, 2.0, 10.0)
RELATIVE_STEP_SIZES = {"hmc_gaussian": (1e-3, 2e-3), "rmhmc_gaussian": (0.0125, 0.05, 0.1, 0.2)}
_STEP_RANGES = {**dict.fromkeys(EXACT_METHODS, (4, 8)), **dict.fromkeys(RELATIVE_STEP_SIZES, (10, 20))}


class Row(NamedTuple):
    """A published method at one tolerance."""

    label: str  # its name in figures and claims
    case: str  # that runs it
    method: str  # as in the settings
    tolerance: float = 0.0  # of the ABC kernel; 0 for exact conditioning

    def where(self, scheme: str = "code") -> dict[str, Any]:
        """Columns of the tables that say which rows are its own."""
        return {"case": self.case, "method": self.method, "scheme": scheme, "tolerance": self.tolerance}


SEEDS_FROM_ABOVE = tuple(range(20261201, 20261211))  # of sets of scales of summaries limited from above alone

# Published rows of figures 4.10 to 4.12, and two of ours: one has the target of the first, the other explains 4.10.
ROWS = {
    "all": Row("Cons. HMC (all)", "constrained", "chmc_all"),
    "all_dense": Row("Cons. HMC (all), dense", "dense", "chmc_all_dense"),
    "summaries": Row("Cons. HMC (sum.)", "constrained", "chmc_summaries"),
    "ball_10": Row("ABC SS (U, ε=10)", "slices", "ss_ball", 10.0),
    "ball_100": Row("ABC SS (U, ε=100)", "slices", "ss_ball", 100.0),
    "gaussian": Row("ABC SS (G, ε=10)", "slices", "ss_gaussian", 10.0),
    "hmc": Row("ABC HMC (G, ε=10)", "hmc", "hmc_gaussian", 10.0),
    "hmc_more": Row("ABC HMC (G, ε=10)", "hmc_more", "hmc_gaussian", 10.0),
    "pm_normalised": Row("PM ABC, normalised, ε=1", "summaries", "pm_summaries", 1.0),
    "pm_wider": Row("PM ABC, normalised, ε=2.5", "summaries_wider", "pm_summaries", 2.5),
    **{
        f"pm_above_{seed}": Row(
            "PM ABC, from above, ε=1", f"summaries_above__seed-{seed}", "pm_summaries", 1.0
        )
        for seed in SEEDS_FROM_ABOVE
    },
    "pm_raw": Row("PM ABC, raw, ε=2.5", "summaries", "pm_summaries_raw", 2.5),
    "pm_raw_more": Row("PM ABC, raw, ε=2.5", "pm_raw_more", "pm_summaries_raw", 2.5),
}
# Cases by Euler-Maruyama steps from an observation to the next.
SPARSE_CASES = {"constrained": 1, **{f"sparse__steps_per_observation-{n}": n for n in (2, 4, 8)}}
FIGURE_ROWS = ("all", "summaries", "ball_10", "ball_100", "gaussian", "hmc")  # of figures 4.11 and 4.12


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: methods on one data set under one or both schemes."""

    design: str = setting(
        "chains",
        "chains: posterior samples; step_sizes: acceptance rates at several integrator steps; failures: how often "
        "pseudo-marginal chains on all data move, and how many prior draws rejection accepts; tolerances: HMC of both "
        "kinds as the tolerance falls, with steps in proportion to it; scales: what rejection on summaries accepts "
        "under several sets of their scales",
        ("chains", "step_sizes", "failures", "tolerances", "scales"),
    )
    method: str = setting("chmc_all", "sampler and target", METHODS)
    scheme: str = setting(
        "code",
        "discretisation: predators see the new prey (code, as the published results) or the old (text)",
        ("code", "text"),
    )
    tolerance: float = setting(
        0.0, "ABC tolerance in units of the data or summaries; 0 for the method's published ones", (0.0, None)
    )
    step_size: float = setting(
        0.0, "integrator step or random-walk scale; 0 for the published ones of the method", (0.0, 1e3)
    )
    n_steps: list[int] = setting(
        [],
        "fewest and most integrator steps of an update (chmc, hmc); empty for published ones",
        (1, 100_000),
    )
    n_inner_steps: int = setting(3, "geodesic sub-steps of an integrator step (chmc)", (1, 1000))
    projection_solver: str = setting(
        "quasi_newton",
        "solver of the projection on to the manifold (chmc)",
        ("quasi_newton", "newton", "newton_line_search"),
    )
    projection_fallback: str = setting(
        "none",
        "solver where that one does not converge (chmc); none rejects the proposal at once",
        ("none", "newton", "newton_line_search"),
    )
    projection_tolerance: float = setting(
        1e-8, "largest constraint value that counts as solved (chmc), in units of the data", (1e-13, 1.0)
    )
    reversibility_check: str = setting(
        "position_and_constraint",
        "what a reversed sub-step must meet again (chmc): its position, or the values of the constraint too",
        ("position", "position_and_constraint"),
    )
    n_discard: int = setting(10, "first iterations of each chain left out of statistics", (0, 100_000_000))
    batch_size: int = setting(100, "iterations in a batch of scale adaptation (pm_summaries)", (1, 1_000_000))
    n_batches: int = setting(
        20, "batches of scale adaptation, within the discarded iterations (pm_summaries)", (0, 100_000)
    )
    summaries: str = setting("population", "convention of the nine summaries", ("population", "sample"))
    n_normalisation: int = setting(
        1_000_000, "prior draws that give the standard deviations of the summaries", (1000, 1_000_000_000)
    )
    population_limit: str = setting(
        "size",
        "draws left out of these: a population exceeds 1e5 in size, or from above alone",
        ("size", "above"),
        added=True,
    )
    n_rejection_all: int = setting(
        1_000_000, "prior draws of rejection on all data (design failures)", (1000, 10_000_000_000)
    )
    n_rejection_summaries: int = setting(
        50_000_000,
        "prior draws of rejection on summaries for each set of scales (design scales)",
        (1000, 10_000_000_000),
    )
    n_scale_sets: int = setting(
        20, "sets of scales of the summaries, of n_normalisation draws each (scales)", (2, 10_000), added=True
    )
    start_centre: float = setting(-4.0, "mean of the initial u1, in prior sds", (-30.0, 30.0))
    start_spread: float = setting(0.1, "standard deviation of the initial u1, in prior sds", (0.0, 10.0))
    start_rates: str = setting(
        "usual",
        "rates of the initial states: small, by start_centre; posterior, as the exact posterior has them; usual, small "
        "but for pm_summaries_raw and the designs failures, step_sizes and tolerances",
        ("usual", "small", "posterior"),
        added=True,
    )
    data: str = setting("", "CSV file with your own prey and predators, a row a time; empty for published")
    n_rows: int = setting(0, "first published rows that are conditioned on; 0 for all", (0, 50), added=True)
    time_step: float = setting(1.0, "time between two rows", (1e-9, 1e9))
    noise_scales: list[float] = setting(
        [1.0, 1.0], "noise of prey and of predators over one unit of time (standard deviation)", (1e-9, 1e9)
    )
    initial_state: list[float] = setting(
        [], "prey and predators at time 0; empty for 100 and 100, or with data=FILE for its first row"
    )
    steps_per_observation: int = setting(
        1,
        "Euler-Maruyama steps from an observation to the next; all but the last state are latent "
        "(chmc_teacher_forced)",
        (1, 1000),
        added=True,
    )
    prior_mean: float = setting(-2.0, "prior mean of each log rate", (-100.0, 100.0))
    prior_sd: float = setting(1.0, "prior standard deviation of each log rate", (1e-6, 100.0))


def programs(settings: Settings) -> list[tuple[str, str]]:
    """Methods and schemes that a case runs, one compiled program each."""
    methods = settings.batch.get("method", [settings.method])
    schemes = settings.batch.get("scheme", [settings.scheme])
    return [(method, scheme) for scheme in schemes for method in methods]


def tolerances(settings: Settings, method: str) -> tuple[float, ...]:
    """Tolerances at which a method runs: that of the settings, or the published ones."""
    if settings.tolerance:
        return (settings.tolerance,)
    return FALLING_TOLERANCES if is_relative(settings, method) else TOLERANCES[method]


def is_relative(settings: Settings, method: str) -> bool:
    """Whether step sizes are multiples of the tolerance."""
    return settings.design == "tolerances" and method in RELATIVE_STEP_SIZES


def step_sizes(settings: Settings, method: str) -> tuple[float, ...]:
    """Step sizes at which a method runs: that of the settings, or the published ones or those to try."""
    if settings.step_size:
        return (settings.step_size,)
    if is_relative(settings, method):
        return RELATIVE_STEP_SIZES[method]
    return (TRIED_STEP_SIZES if settings.design == "step_sizes" else STEP_SIZES)[method]


def step_range(settings: Settings, method: str) -> tuple[int, int]:
    """Fewest and most integrator steps of an update: those of the settings, or the published ones."""
    low, high = settings.n_steps or _STEP_RANGES[method]
    return low, high


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings, and DataError for a file that cannot be used."""
    methods = {method for method, _ in programs(settings)}
    got = f"got {', '.join(sorted(methods))}"
    for design, allowed in (("failures", FAILING_METHODS), ("step_sizes", tuple(TRIED_STEP_SIZES))):
        if settings.design == design and not methods <= set(allowed):
            raise SettingsError(f"design={design} runs the methods {', '.join(allowed)}, {got}")
    if settings.n_rows and (settings.data or settings.n_rows < MIN_STEPS):
        raise SettingsError(
            f"n_rows: takes at least {MIN_STEPS} rows of the published data, leave data empty"
        )
    if settings.steps_per_observation > 1 and not methods <= set(SPARSE_METHODS):
        needed = ", ".join(SPARSE_METHODS)
        raise SettingsError(f"steps_per_observation above 1 needs the method {needed}, {got}")
    for method in sorted(methods):
        if settings.tolerance and method in EXACT_METHODS:
            raise SettingsError(f"tolerance: method={method} conditions exactly, leave it 0")
        if settings.step_size and STEP_SIZES[method] == (0.0,):
            raise SettingsError(f"step_size: method={method} has nothing to tune, leave it 0")
        if settings.n_steps and method not in _STEP_RANGES:
            raise SettingsError(f"n_steps: method={method} makes no integrator steps, leave it empty")
    if settings.n_steps and (len(settings.n_steps) != 2 or settings.n_steps[0] > settings.n_steps[1]):
        raise SettingsError(f"n_steps must be two integers, fewest and most, got {settings.n_steps}")
    if settings.n_discard > settings.n_draws - 10:
        raise SettingsError(
            f"n_discard must leave at least 10 of the n_draws={settings.n_draws} iterations, got {settings.n_discard}"
        )
    if methods & set(SUMMARY_METHODS) and settings.n_batches * settings.batch_size > settings.n_discard:
        raise SettingsError(
            f"n_batches * batch_size must be at most n_discard={settings.n_discard}, so that no scale changes in kept "
            f"iterations, got {settings.n_batches} * {settings.batch_size}"
        )
    if len(settings.noise_scales) != 2:
        raise SettingsError(f"noise_scales must be two numbers, got {settings.noise_scales}")
    if settings.initial_state and len(settings.initial_state) != 2:
        raise SettingsError(f"initial_state must be two numbers or empty, got {settings.initial_state}")
    if settings.data:
        read_populations(settings.data, MIN_STEPS + (0 if settings.initial_state else 1))
        if settings.design == "failures":
            raise DataError("design=failures repeats published runs: leave data empty, or use design=chains")
