"""Settings of the Gaussian latent study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc.data.tables import read_matrix
from auxmc_pipeline.settings import CaseSettings, SettingsError, setting

TITLE = "Gaussian latent variable model"
DOCUMENT = "PhD thesis"
METHODS = ("pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_mi_ss", "apm_ss_ss")
BATCHABLE = ("step_size", "bracket_width")
SWEEP_QUANTITIES = ("ess_per_evaluation", "ess_per_second", "acceptance_position", "acceptance_auxiliary")

BATCHED = ("method", "n_importance", *BATCHABLE)

_BANDS = (
    "Curves are means over the independent chains of a cell, 10 unless the footer says otherwise; bands are +- 1 "
    "standard deviation over chains."
)
_SECONDS = "Seconds are a chain's share of the run time of all chains, which ran side by side."
_MARKS = "Grey dashes: accept rate 0.234 and step size 0.425. Grey dots: exact accept rate (N = 1)."
_EFFICIENCY = (
    "Effective sample size (mean over the coordinates of x) per second (left) and per density evaluation "
    f"(right), and accept rate of {{what}} (dashed, right axes), against the step size. {_BANDS} {_SECONDS}"
)
_LONG = (
    "Single long chains at equal numbers of density evaluations: x_1 over the last 10 000 iterations, every "
    "fifth drawn (left), and histogram of x_1 over the whole chain with the exact density (right). The footer "
    "gives the numbers of iterations. No bands: one chain a row, the first of those that were run."
)
FIGURES: dict[str, str] = {
    "fig_3_1": "Factor graph of the hierarchical model: global variables x, local latent variables z, "
    "observations y (shaded). The plate is repeated for each of the M observations.",
    "fig_3_2": "One reflective slice update in the unit square: current point, slice (shaded), bracket on the "
    "random line reflected at the walls, a rejected and an accepted proposal. One update of a chain, no bands.",
    "fig_3_3": f"PM MH with N = 1, 8, 32 importance samples. {_EFFICIENCY.format(what='the joint update')}",
    "fig_3_4": f"PM MH at its published best step sizes. {_LONG}",
    "fig_3_5": "APM MI+MH with N = 1, 8, 32 importance samples. "
    f"{_EFFICIENCY.format(what='the update of x')} {_MARKS}",
    "fig_3_6": f"APM MI+MH at step size 0.425. {_LONG}",
    "fig_3_7": f"APM SS+MH with one importance sample. {_EFFICIENCY.format(what='the update of x')} {_MARKS}",
    "fig_3_8": "Auxiliary variable u_1 = u[0, 0, 0] in APM MI+MH and APM SS+MH with one importance sample and "
    "step size 0.425: last 10 000 iterations, every fifth drawn (left), histogram over the whole chain with "
    "the exact marginal density (right). No bands: one chain a row, the first of those that were run.",
    "fig_3_9": "Slice sampling of x with one importance sample: APM MI+SS (top) and APM SS+SS (bottom). "
    "Effective sample size (mean over the coordinates of x) per second (left) and per density evaluation "
    f"(right) against the initial bracket width. {_BANDS} {_SECONDS}",
    "fig_data_sets": "What the data set changes: data drawn as stated against data scaled to the published noise "
    "of the log estimate. Top: density of the log estimate about its mean at the generating x, with its "
    "standard deviation. Below, against the step size: accept rate of PM MH and of the update of u in APM MI+MH; "
    "longest run of identical x as a share of the chain; effective sample size per density evaluation, which for "
    f"chains of very few moves is too large and says little. {_BANDS}",
}


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
    step_size: float = setting(0.425, "random-walk step size (methods ending in mh)", (1e-6, 1e3))
    bracket_width: float = setting(4.0, "initial bracket (methods ending in ss)", (1e-6, 1e3))
    n_evaluations: int = setting(
        0,
        "density evaluations of a long chain, about: sets its iterations (design long); 0 for n_draws iterations",
        (0, None),
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


def check(settings: Settings) -> None:
    """Rules across fields, and the user's data.

    Raises:
        SettingsError: settings that contradict each other.
        DataError: the data file cannot be used.
    """
    tuned = {scale_name(method) for method, _ in programs(settings)}
    if settings.design in ("sweep", "long"):
        if len(tuned) > 1:
            raise SettingsError("batch.method: methods ending in mh and in ss cannot run in one case")
        other = ({*BATCHABLE} - tuned).pop()
        if other in settings.batch:
            raise SettingsError(f"batch.{other}: method={programs(settings)[0][0]} is tuned by {tuned.pop()}")
    if settings.record_auxiliary and settings.design != "long":
        raise SettingsError("record_auxiliary=true needs design=long")
    if settings.data:
        read_matrix(settings.data)
        if settings.design == "checks":
            raise SettingsError("design=checks uses simulated data: leave data empty, or use another design")
