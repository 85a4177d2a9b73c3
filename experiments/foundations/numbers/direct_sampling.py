"""Topic: transforms, inverse distribution functions, roots of covariances, rejection."""

import math
from functools import cache

import jax
import numpy as np
import xarray as xr
from jax import Array
from scipy import stats

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc.sampling.rejection import rejection_sample
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import (
    distance_from_distribution,
    distance_in_errors,
    mean_over_replicates,
)
from experiments.foundations.chains.inputs import SHAPE
from experiments.foundations.measurements import highest_point, largest_size, normal_points, points_of_cube
from experiments.foundations.numbers.shared_examples import (
    BOUND,
    TAIL,
    figure_proposals,
    figure_ratio,
    make_proposals,
    marked_points,
    mixture_mass,
    tail_envelope,
)
from experiments.foundations.sampling.gaussian import covariance_root
from experiments.foundations.sampling.inverse_cdf import draw_by_inversion, generalised_logistic
from experiments.foundations.sampling.transforms import box_muller, inverse_box_muller
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()


@TOPIC.claim("FN-DS-01")
def box_muller_jacobian(work: Work) -> Lines:
    """Determinant of the map of Box and Muller."""
    uniforms = _points_away_from_the_edge()
    image, jacobians = jax.jit(jax.vmap(lambda u: (box_muller(u), jax.jacfwd(box_muller)(u))))(uniforms)
    sizes = np.abs(np.linalg.det(np.asarray(jacobians)))
    normals = stats.norm.pdf(np.asarray(image)).prod(axis=-1)
    return {
        "determinant against 2 pi / u1": largest_size(sizes / (2.0 * math.pi / uniforms[:, 0]) - 1.0),
        "its inverse against the normal densities": largest_size(1.0 / sizes / normals - 1.0),
    }


@TOPIC.claim("FN-DS-02", numbers=["corrected"])
def box_muller_inverses(work: Work) -> Lines:
    """The inverse map, corrected and as printed."""
    uniforms = _points_away_from_the_edge()
    image, back = (np.asarray(values) for values in _there_and_back(uniforms))
    printed = np.arctan(image[:, 0] / image[:, 1]) / (2.0 * math.pi)
    return {"corrected": largest_size(back - uniforms), "as printed": largest_size(printed - uniforms[:, 1])}


@jax.jit
def _there_and_back(uniforms: Array) -> tuple[Array, Array]:
    image = box_muller(uniforms)
    return image, inverse_box_muller(image)


def _points_away_from_the_edge() -> FloatArray:
    return 0.01 + 0.98 * points_of_cube(1000, 2)


@cache
def _grid_and_image() -> tuple[FloatArray, FloatArray]:
    """The grid of figure 2.2 and its image [first, second, axis]."""
    line = 0.0455 + 0.909 * np.arange(12) / 11
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    return grid, np.asarray(jax.jit(box_muller)(grid))


@TOPIC.claim("FN-DS-04")
def skewed_draws(work: Work) -> Lines:
    """Draws by inversion of a skewed distribution."""
    skewed, n = generalised_logistic(SHAPE), work.replicates(100_000, 1000)
    drawn = jax.jit(lambda key: draw_by_inversion(key, skewed, (n,)))(work.key("skewed"))
    levels = 1.0 - (1.0 + np.exp(np.asarray(drawn))) ** -SHAPE
    return {"distance of the sample's law times the root of its size": distance_from_distribution(levels)}


@TOPIC.claim("FN-DS-05")
def figure_acceptance(work: Work) -> Lines:
    """The bound and the acceptance of figure 2.3."""
    accepted = np.asarray(work.once(figure_proposals).accepted)
    return {
        "largest target over proposal": highest_point(figure_ratio, np.linspace(-4.0, 4.0, 8001), 0.01)[1],
        "acceptance rate, distance in standard errors": _binomial_distance(accepted, 1.0 / BOUND),
    }


def _binomial_distance(hits: BooleanArray, probability: float) -> Measurement:
    error = math.sqrt(probability * (1.0 - probability) / hits.size)
    return distance_in_errors(Measurement(float(hits.mean()), error), probability)


@TOPIC.claim("FN-DS-06")
def marked_proposals(work: Work) -> Lines:
    """A proposal is accepted if its height is at most the target."""
    return {f"{name} decision": point.height <= point.target for name, point in marked_points().items()}


@TOPIC.claim("FN-DS-07")
def acceptance_in_many_dimensions(work: Work) -> Lines:
    """Acceptance of the same in ten dimensions."""
    made = make_proposals(work.key("product"), work.replicates(500_000, 20_000), 10)
    probability = (mixture_mass() / BOUND) ** 10
    distance = _binomial_distance(np.asarray(made.accepted), probability)
    return {"acceptance rate, distance in standard errors": distance}


@TOPIC.claim(
    "FN-DS-08",
    numbers=["draws for each accepted one, naive", "draws for each accepted one, exponential proposal"],
)
def tail_of_the_normal(work: Work) -> Lines:
    """Cost of draws beyond 4, with naive rejection and with an exponential proposal."""
    drawn = rejection_sample(work.key("tail"), tail_envelope(), work.replicates(100_000, 10_000))
    return {
        "draws for each accepted one, naive": 1.0 / stats.norm.sf(TAIL),
        "draws for each accepted one, exponential proposal": mean_over_replicates(drawn.n_proposals),
    }


@TOPIC.claim("FN-DS-09")
def covariance_roots(work: Work) -> Lines:
    """Square of the symmetric root of a covariance."""
    half = normal_points(5, 5)
    covariance = half @ half.T + np.eye(5)
    symmetric = covariance_root(covariance, "symmetric")
    return {"symmetric root": largest_size(symmetric @ symmetric.T - covariance)}


@TOPIC.figure("fig_2_2")
def grid_image(work: Work) -> Arrays:
    """Figure 2.2."""
    grid, image = _grid_and_image()
    along = {"fig_2_2_first": np.arange(12), "fig_2_2_second": np.arange(12), "fig_2_2_axis": [1, 2]}
    return {"fig_2_2_uniform": xr.DataArray(grid, along), "fig_2_2_normal": xr.DataArray(image, along)}


@TOPIC.figure("slides_inverse_cdf")
def quantile_map(work: Work) -> Arrays:
    """The slides' picture of inversion, for the skewed distribution of figure 2.12."""
    distribution = generalised_logistic(SHAPE)
    x = np.linspace(-6.0, 12.0, 361)
    levels = (np.arange(20) + 0.5) / 20
    compute = jax.jit(
        lambda x, u: (
            distribution.distribution_function(x),
            distribution.log_density(x),
            distribution.quantile(u),
        )
    )
    function, log_density, quantiles = map(np.asarray, compute(x, levels))
    line = {"slides_inverse_cdf_x": x}
    return {
        "slides_inverse_cdf_function": xr.DataArray(function, line),
        "slides_inverse_cdf_density": xr.DataArray(np.exp(log_density), line),
        "slides_inverse_cdf_quantile": xr.DataArray(quantiles, {"slides_inverse_cdf_level": levels}),
    }
