"""Settings of the human pose study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses
from typing import NamedTuple

from auxmc_pipeline.settings import CaseSettings, SettingsError, setting
from experiments.human_pose.model.joint_observations import read_joint_observations
from experiments.human_pose.model.pose_priors import PRIORS, local_pose_prior_files

METHODS = ("constrained_hmc", "hmc", "hierarchical_hmc")


class Tuning(NamedTuple):
    """Published numbers of a method."""

    step_size: float  # of the integrator
    n_steps: tuple[int, int]  # fewest and most steps of a trajectory
    n_inner_steps: int = 1  # geodesic sub-steps of a step (constrained_hmc)


class _Variant(NamedTuple):
    noise_scale: float
    start: str
    methods: dict[str, Tuning]


VARIANTS: dict[str, _Variant] = {
    # PhD thesis, section 4.10.3. It has no sampler of the hierarchical state: that of the notebook is taken.
    "thesis": _Variant(
        0.01,
        "prior",
        {
            "constrained_hmc": Tuning(0.05, (10, 20), 8),
            "hmc": Tuning(2e-4, (100, 200)),
            "hierarchical_hmc": Tuning(1e-4, (100, 150)),
        },
    ),
    # Notebook of the published code, an earlier version of the study.
    "notebook": _Variant(
        0.001,
        "prior_mean",
        {
            "constrained_hmc": Tuning(0.1, (10, 15), 20),
            "hmc": Tuning(2e-4, (100, 150)),
            "hierarchical_hmc": Tuning(1e-4, (100, 150)),
        },
    ),
}


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: chains of one method given images of one or more scenes, or your own."""

    method: str = setting("constrained_hmc", "sampler", METHODS)
    variant: str = setting("thesis", "where noise, start and tuning are from, unless given", tuple(VARIANTS))
    views: str = setting("binocular", "cameras that observe", ("binocular", "monocular"))
    scene: int = setting(1, "simulated scene", (1, 3))
    scene_seed: int = setting(1234, "seed of the three simulated scenes", (0, 2**32 - 1))
    prior: str = setting(
        "own",
        "parameters of the prior: own ones, or the published ones, which are fetched once or read from $AUXMC_DATA_DIR",
        PRIORS,
    )
    noise_scale: float = setting(
        0.0,
        "standard deviation of the noise of images; 0 for that of the variant",
        (0.0, 1e3),
        unit="units of the image plane",
    )
    step_size: float = setting(0.0, "integrator step; 0 for that of the variant", (0.0, 1e2))
    n_steps: list[int] = setting(
        [], "fewest and most integrator steps of a trajectory; empty for those of the variant", (1, 100_000)
    )
    n_inner_steps: int = setting(
        0, "geodesic sub-steps of an integrator step (constrained_hmc); 0 for those of the variant", (0, 1000)
    )
    start: str = setting(
        "variant",
        "first inputs: draws from the prior, its mean, or as the variant has them",
        ("variant", "prior", "prior_mean"),
    )
    projection_solver: str = setting(
        "quasi_newton",
        "solver of the projection on to the manifold (constrained_hmc)",
        ("quasi_newton", "newton", "newton_line_search"),
    )
    projection_fallback: str = setting(
        "none",
        "solver where that one does not converge (constrained_hmc); none rejects the proposal at once",
        ("none", "newton", "newton_line_search"),
    )
    projection_tolerance: float = setting(
        1e-8,
        "largest constraint value that counts as solved (constrained_hmc)",
        (1e-13, 1.0),
        unit="units of the image plane",
    )
    data: str = setting("", "CSV file with image coordinates: joint, view, x, y; empty for simulated scenes")


def tuning(settings: Settings) -> Tuning:
    """Step size, numbers of steps and of sub-steps: those of the settings, or of the variant."""
    published = VARIANTS[settings.variant].methods[settings.method]
    low, high = settings.n_steps or published.n_steps
    return Tuning(
        settings.step_size or published.step_size,
        (low, high),
        settings.n_inner_steps or published.n_inner_steps,
    )


def noise_scale(settings: Settings) -> float:
    """Standard deviation of the noise of images: that of the settings, or of the variant."""
    return settings.noise_scale or VARIANTS[settings.variant].noise_scale


def start_of(settings: Settings) -> str:
    """How chains start: `prior` or `prior_mean`."""
    return VARIANTS[settings.variant].start if settings.start == "variant" else settings.start


def check(settings: Settings) -> None:
    """Raises SettingsError for contradicting settings, and DataError for a file that cannot be used."""
    if any(not step > 0.0 for step in settings.batch.get("step_size", [])):
        raise SettingsError("batch.step_size: every step must be positive")
    if settings.n_steps and (len(settings.n_steps) != 2 or settings.n_steps[0] > settings.n_steps[1]):
        raise SettingsError(f"n_steps must be two integers, fewest and most, got {settings.n_steps}")
    if settings.n_inner_steps and settings.method != "constrained_hmc":
        raise SettingsError(f"n_inner_steps: method={settings.method} has no geodesic sub-steps, leave it 0")
    if settings.data:
        read_joint_observations(settings.data, settings.views)
        if "scene" in settings.batch or settings.scene != 1:
            raise SettingsError("scene: with data=FILE there is one scene, leave scene at 1")


def data_files(settings: Settings) -> list[str]:
    """Files whose content the result depends on."""
    own = [settings.data] if settings.data else []
    return [*own, *map(str, local_pose_prior_files(settings.prior))]
