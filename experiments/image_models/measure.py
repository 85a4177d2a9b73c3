"""What the study measures: joint log evidence of the test images by each method, its error, and its cost.

Images are independent, so the variance of a joint estimate is the sum over images of the variances of theirs.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from auxmc.diagnostics import tempered_evidence as evidence
from auxmc.numerics.array_types import FloatArray, NamedArrays
from experiments.image_models.problem import Problem

LAYOUTS = (1, 2, 4, 8)  # Numbers of chains among which one chain's length is shared
PARALLEL = (1, 2, 4)  # Numbers of chains or runs of full length that are pooled
_N_POINTS = 100
_NATS, _SECONDS, _GRADIENTS = ({"units": unit} for unit in ("nats", "s", "gradients"))


class Joint(NamedTuple):
    """Joint estimate from several independent ones."""

    mean: float  # over estimates, in nats
    sd: float  # standard deviation of an estimate
    error: float  # standard error of the mean


def joint_of(estimates: FloatArray) -> Joint:
    """Sum over images of estimates [image, estimate], averaged over estimates; errors are NaN for a single one."""
    n = estimates.shape[1]
    variance = estimates.var(axis=1, ddof=1).sum() if n > 1 else math.nan
    return Joint(float(estimates.mean(axis=1).sum()), math.sqrt(variance), math.sqrt(variance / n))


def _joint(prefix: str, estimates: FloatArray) -> dict[str, Any]:
    """Variables of a joint estimate and those of each image, from estimates [image, repetition]."""
    joint = joint_of(estimates)
    n = estimates.shape[1]
    variances = estimates.var(axis=1, ddof=1) / n if n > 1 else np.full(len(estimates), math.nan)
    return {
        **{f"{prefix}joint_{part}": ((), value, _NATS) for part, value in joint._asdict().items()},
        f"{prefix}joint_log_evidence": ("repetition", estimates.sum(axis=0), _NATS),
        f"{prefix}image_mean": ("image", estimates.mean(axis=1), _NATS),
        f"{prefix}image_variance": ("image", variances),
    }


def _joint_by_count(name: str, dim: str, groups: Sequence[FloatArray]) -> dict[str, Any]:
    """Variables along `dim` of joint estimates and those of images, from estimates [image, estimate] of each count."""
    parts = zip(Joint._fields, zip(*map(joint_of, groups), strict=True), strict=True)
    return {
        **{f"{name}_{part}": (dim, list(values), _NATS) for part, values in parts},
        f"{name}_image_mean": ((dim, "image"), [one.mean(axis=1) for one in groups], _NATS),
        f"{name}_image_variance": ((dim, "image"), [one.var(axis=1, ddof=1) for one in groups]),
    }


def running_draws(n_draws: int) -> NDArray[np.int64]:
    """Draws of a chain after which running estimates are taken [point]."""
    return np.unique(np.linspace(1, n_draws, min(n_draws, _N_POINTS)).round().astype(np.int64))


def segment_ends(n_draws: int) -> NDArray[np.int64]:
    """Draws up to the end of each segment [segment]: every running estimate and fraction of a chain ends with one."""
    fractions = [n_draws // count for count in LAYOUTS if n_draws >= count]
    return np.union1d(running_draws(n_draws), np.array(fractions, np.int64))


def chain_sums(draws: NamedArrays) -> dict[str, NDArray[np.generic]]:
    """Logs of sums of weights over segments [image, chain, segment] and counts of updates [image, chain] of chains."""
    starts = np.append(0, segment_ends(draws["accepted"].shape[2])[:-1])
    weights = {
        name: np.logaddexp.reduceat(draws[name].astype(np.float64), starts, axis=2)
        for name in ("log_target_weight", "log_base_weight")
    }
    counts = {
        name: draws[of].sum(axis=2, dtype=np.int64)
        for name, of in (("n_accepted", "accepted"), ("n_not_finite", "n_not_finite"))
    }
    return {**weights, **counts}


def chain_statistics(
    sums: NamedArrays, n_draws: int, n_repetitions: int, n_steps: int, run_s: float
) -> xr.Dataset:
    """Summary of tempered chains, which took `run_s` seconds together; an update has `n_steps` gradient evaluations."""
    target, base, ends = sums["log_target_weight"], sums["log_base_weight"], segment_ends(n_draws)
    n_images, n_chains = sums["n_accepted"].shape

    def estimates_of(n_pooled: int, n_used: int) -> FloatArray:
        return _estimates(target, base, n_pooled, int(np.searchsorted(ends, n_used)) + 1)

    per_repetition = n_chains // n_repetitions
    n_gradients = n_images * per_repetition * n_draws * n_steps
    seconds = run_s / n_repetitions
    shared = [count for count in LAYOUTS if n_chains // count >= 2 and n_draws >= count]
    layouts = [estimates_of(count, n_draws // count) for count in shared]
    parallel = [count for count in PARALLEL if n_chains // count >= 2]
    pooled = [estimates_of(count, n_draws) for count in parallel]
    return xr.Dataset(
        {
            **_joint("", estimates_of(per_repetition, n_draws)),
            "acceptance": ((), sums["n_accepted"].sum() / (n_images * n_chains * n_draws)),
            "n_gradients": ((), n_gradients, _GRADIENTS),
            "n_chain_draws": ((), n_draws, {"units": "iterations"}),
            "seconds": ((), seconds, _SECONDS),
            "seconds_per_iteration": ((), seconds / n_draws, _SECONDS),
            "seconds_per_gradient": ((), seconds / n_gradients, _SECONDS),
            **_joint_by_count("layout", "n_sharing", layouts),
            **_joint_by_count("pooled", "n_parallel", pooled),
        },
        coords={"repetition": range(n_repetitions), "n_sharing": shared, "n_parallel": parallel},
    )


def chain_curves(
    sums: NamedArrays, n_draws: int, n_repetitions: int, n_steps: int, run_s: float
) -> xr.Dataset:
    """Running joint estimates; arguments as `chain_statistics`."""
    target, base, ends = sums["log_target_weight"], sums["log_base_weight"], running_draws(n_draws)
    n_images, n_chains = sums["n_accepted"].shape
    per_repetition = n_chains // n_repetitions
    at_points = np.searchsorted(segment_ends(n_draws), ends)
    running = np.empty((n_images, n_repetitions, len(ends)))
    for image, repetition in np.ndindex(n_images, n_repetitions):
        members = slice(repetition * per_repetition, (repetition + 1) * per_repetition)
        along = evidence.running_log_evidence(target[image, members], base[image, members])
        running[image, repetition] = along[at_points]
    joints = [joint_of(running[:, :, point]) for point in range(len(ends))]
    fraction = ends / n_draws
    return xr.Dataset(
        {
            "running_mean": ("point", [joint.mean for joint in joints], _NATS),
            "running_error": ("point", [joint.error for joint in joints], _NATS),
            "running_image_mean": (("estimated_image", "point"), running.mean(axis=1), _NATS),
            "running_draws": ("point", ends, {"units": "iterations"}),
            "running_seconds": ("point", fraction * run_s / n_repetitions, _SECONDS),
            "running_gradients": ("point", ends * float(n_images * per_repetition * n_steps), _GRADIENTS),
        },
        coords={"point": range(len(ends))},
    )


def annealed_statistics(draws: NamedArrays, n_temperatures: int, n_steps: int, run_s: float) -> xr.Dataset:
    """Summary of annealed runs with one ladder; recorded quantities are [image, repetition, run]."""
    logs = draws["log_weight"].astype(float)
    n_images, n_repetitions, n_runs = logs.shape
    n_gradients = n_images * n_runs * (n_temperatures - 1) * n_steps
    together = logs.reshape(n_images, -1)
    parallel = [count for count in PARALLEL if together.shape[1] // count >= 2]
    pooled = [_annealed_groups(together, count) for count in parallel]
    return xr.Dataset(
        {
            **_joint("ais_", _annealed_groups(together, n_runs)),
            "ais_weight_sd": ((), logs.std(axis=2, ddof=1).mean(), _NATS),
            "ais_acceptance": ((), draws["acceptance"].mean()),
            "ais_n_gradients": ((), n_gradients, _GRADIENTS),
            "ais_seconds": ((), run_s / n_repetitions, _SECONDS),
            **_joint_by_count("ais_pooled", "n_parallel", pooled),
        },
        coords={"repetition": range(n_repetitions), "n_parallel": parallel},
    )


def bound_statistics(forward: NamedArrays, reverse: NamedArrays, run_s: float) -> xr.Dataset:
    """Bounds by annealing in both directions; recorded quantities are [image, 1, run]."""
    logs, back = (draws["log_weight"][:, 0].astype(float) for draws in (forward, reverse))
    bounds = evidence.bidirectional_bounds(logs, back)
    lower_variance, upper_variance, arithmetic_variance = (
        np.array([evidence.annealed_evidence(runs).standard_error ** 2 for runs in weights])
        for weights in (logs, back, -back)
    )
    acceptance = np.mean([draws["acceptance"].mean() for draws in (forward, reverse)])
    return xr.Dataset(
        {
            "joint_lower": ((), float(np.sum(bounds.lower)), _NATS),
            "joint_lower_error": ((), math.sqrt(lower_variance.sum()), _NATS),
            "image_lower": ("image", bounds.lower, _NATS),
            "image_lower_variance": ("image", lower_variance),
            "image_upper": ("image", bounds.upper, _NATS),
            "image_upper_variance": ("image", upper_variance),
            "image_middle": ("image", 0.5 * (bounds.lower + bounds.upper), _NATS),
            "joint_upper": ((), float(np.sum(bounds.upper)), _NATS),
            "joint_upper_error": ((), math.sqrt(upper_variance.sum()), _NATS),
            "joint_upper_arithmetic": ((), float(np.sum(bounds.upper_arithmetic)), _NATS),
            "joint_upper_arithmetic_error": ((), math.sqrt(arithmetic_variance.sum()), _NATS),
            "n_below": ((), int(np.sum(bounds.upper < bounds.lower)), {"units": "images"}),
            "bounds_acceptance": ((), float(acceptance)),
            "bounds_seconds": ((), run_s, _SECONDS),
        }
    )


def problem_statistics(problem: Problem, facts: Mapping[str, tuple[int, int]]) -> xr.Dataset:
    """What is known of the images without tempering, and `published_facts` about the models at hand."""
    bases = problem.bases
    variables: dict[str, Any] = {
        "n_images_used": ((), len(bases.log_zeta), {"units": "images"}),
        "joint_log_zeta": ((), float(bases.log_zeta.sum()), _NATS),
        "joint_log_zeta_error": ((), math.sqrt(np.square(bases.log_zeta_error).sum()), _NATS),
        "joint_single_bound": ((), float(bases.single_bound.sum()), _NATS),
        "n_active_latents": ((), int(np.sum(bases.means.var(axis=0) > 0.01)), {"units": "latent dimensions"}),
    }
    coords: dict[str, Any] = {}
    if facts:
        coords["published_model"] = list(facts)
        for name, counts in zip(("layers", "images"), zip(*facts.values(), strict=True), strict=True):
            variables[f"n_{name}_differ"] = ("published_model", list(counts), {"units": name})
    return xr.Dataset(variables, coords=coords)


def packed_rows(images: NDArray[np.uint8]) -> FloatArray:
    """Binary images [image, pixel] as one integer a row of pixels [image, row], the first pixel counting most."""
    side = math.isqrt(images.shape[1])
    return images.reshape(len(images), side, side).astype(float) @ 2.0 ** np.arange(side)[::-1]


def _estimates(target: FloatArray, base: FloatArray, n_pooled: int, n_segments: int) -> FloatArray:
    """Estimates [image, group] from the first segments of each `n_pooled` successive chains."""
    estimates = np.empty((len(target), target.shape[1] // n_pooled))
    for image, index in np.ndindex(estimates.shape):
        group = image, slice(index * n_pooled, (index + 1) * n_pooled), slice(n_segments)
        estimates[image, index] = evidence.log_evidence(target[group], base[group])
    return estimates


def _annealed_groups(logs: FloatArray, n_pooled: int) -> FloatArray:
    n_groups = logs.shape[1] // n_pooled
    groups = logs[:, : n_groups * n_pooled].reshape(len(logs), n_groups, n_pooled)
    return np.array([[evidence.annealed_evidence(group).value for group in of_image] for of_image in groups])
