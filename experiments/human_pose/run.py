"""Maps the settings of a case to model, kernel and recorded quantities, and runs the chains."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver import seeds
from auxmc.errors import DataError
from auxmc.models.conditioned import noisy_input
from auxmc_pipeline.chain_statistics import counted_failures, labelled_draws
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from auxmc_pipeline.settings import SettingsError
from experiments.human_pose import measure
from experiments.human_pose.measure import AXES
from experiments.human_pose.model import generator
from experiments.human_pose.model.cameras import project_joints
from experiments.human_pose.model.skeleton import JOINT_NAMES, N_ANGLES, N_BONES, N_JOINTS
from experiments.human_pose.programs import Problem, build_problem, build_sampler
from experiments.human_pose.settings import Settings, tuning

_OWN_DIMS = {"positions": ("joint", "axis"), "camera": ("axis",)}
_N_PRIOR_DRAWS, _N_PRIOR_POSES = 20, 12


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; raises SettingsError if no trajectory was accepted at all, or a file cannot be used."""
    try:
        problem = build_problem(settings, context)
    except DataError as error:
        raise SettingsError(str(error)) from error
    at_start = jax.jit(jax.vmap(lambda inputs: generator.positions(problem.model, inputs)))(problem.starts)
    first = _array(at_start, ("chain", "joint", "axis")).assign_coords(chain=np.arange(len(at_start)))
    facts, poses = _facts(problem, settings), xr.Dataset()
    if settings.method == "constrained_hmc":
        about_prior, poses = _prior_facts(problem, context)
        facts = facts.merge(about_prior)
    swept = {
        "scene": list(problem.scenes),
        "step_size": settings.batch.get("step_size", [tuning(settings).step_size]),
        # Chains are swept by number, so that each finds its own starting point.
        "chain": list(range(settings.n_chains)),
    }
    names, sampler = (problem.label, settings.variant, settings.method), build_sampler(problem, settings)
    chains = run_chains(context, names, sampler, settings, n_chains=1, sweep=swept, vectorise=False)
    draws = _labelled(chains, problem)
    check_moves(draws, settings)
    truth = _true_positions(problem)
    curves: list[Any] = [
        measure.chain_curves(draws, first, truth, chains.run_s),
        _sample_images(draws, problem),
    ]
    if draws.sizes["step_size"] > 1:
        curves[0] = curves[0].map(
            lambda a: measure.of_shown_chains(a) if "chain" in a.dims else a, keep_attrs=True
        )
    groups = {
        "statistics": measure.chain_statistics(draws, first, truth, chains.run_s).merge(facts),
        "curves": xr.merge([*curves, _scene_curves(problem), poses], join="outer"),
        **measure.chain_groups(draws),
    }
    # A setting that is not swept stands in its own column.
    single = [name for name in ("scene", "step_size") if name not in settings.batch]
    groups = {
        name: data.squeeze([dim for dim in single if dim in data.dims], drop=True)
        for name, data in groups.items()
    }
    groups["observed_data"] = _scene_curves(problem)[["observed"]]
    return groups


def _labelled(chains: Chains, problem: Problem) -> xr.Dataset:
    """Recorded quantities with dims (scene, step_size, chain, draw, ...), residuals in place of generated images."""
    arrays = dict(chains.draws)
    if "generated" in arrays:
        difference = arrays.pop("generated") - problem.observed[:, None, None, None, None]
        arrays["residual"] = np.abs(difference).max(axis=-1)
    coords = {"scene": list(problem.scenes), "joint": list(JOINT_NAMES), "axis": list(AXES)}
    return labelled_draws(chains._replace(draws=arrays), coords, _OWN_DIMS, chain="chain")


def check_moves(draws: xr.Dataset, settings: Settings) -> None:
    """Raises SettingsError if no trajectory of any chain was accepted; single chains that stand still are counted."""
    if bool(draws["accepted"].any()):
        return
    work = {"n_work", "n_fallback", "n_projection_iterations"}
    reasons = counted_failures(
        draws, [name for name in draws if str(name).startswith("n_") and name not in work]
    )
    steps = ", ".join(f"{step:g}" for step in draws["step_size"].values)
    advice = "; more n_inner_steps also help" if settings.method == "constrained_hmc" else ""
    raise SettingsError(
        f"method={settings.method}: no trajectory of {settings.n_chains} chains in {settings.n_draws} iterations was "
        f"accepted at step_size={steps} ({reasons or 'no numerical failures'}): there is no posterior to report. Use a "
        f"smaller step_size, a larger noise_scale or start=prior_mean{advice}"
    )


def _sample_images(draws: xr.Dataset, problem: Problem) -> xr.DataArray:
    places = measure.chain_samples(draws["positions"]).transpose(..., "joint", "axis")
    cameras = measure.chain_samples(draws["camera"]).transpose(..., "axis")
    make = jax.jit(jax.vmap(lambda pose, camera: project_joints(pose, camera, problem.model.views)))
    flat = make(*map(jnp.asarray, (places.values.reshape(-1, N_JOINTS, 3), cameras.values.reshape(-1, 3))))
    dims = places.dims[:-2]
    values = np.asarray(flat).reshape(*places.shape[:-2], -1, 2, N_JOINTS)
    images = xr.DataArray(values, dims=(*dims, "view", "image_axis", "joint"), name="sample_image")
    coordinates = {name: places[name] for name in dims} | _image_coordinates(values.shape[-3])
    return measure.of_shown_chains(images.assign_coords(coordinates))


def _image_coordinates(n_views: int) -> dict[str, Any]:
    return {"view": np.arange(1, n_views + 1), "image_axis": list(AXES[:2]), "joint": list(JOINT_NAMES)}


def _facts(problem: Problem, settings: Settings) -> xr.Dataset:
    """Dimensions, and noise against the size of the images."""
    images = problem.observed.reshape(len(problem.scenes), -1, 2, N_JOINTS)
    span = np.ptp(images, axis=-1).max(axis=(1, 2))
    variables: dict[str, Any] = {
        "n_inputs": ((), problem.model.n_inputs),
        "n_observed": ((), generator.n_observed(problem.model.views)),
        "n_angles": ((), N_ANGLES),
        "n_bones": ((), N_BONES),
        "n_joints": ((), N_JOINTS),
        "noise_scale_used": ((), problem.noise_scale),
        "step_size_used": ((), tuning(settings).step_size),
        "noise_over_span": (("scene",), problem.noise_scale / span),
    }
    return xr.Dataset(variables, coords={"scene": list(problem.scenes)})


def _prior_facts(problem: Problem, context: RunContext) -> tuple[xr.Dataset, xr.Dataset]:
    """Singular values of Jacobians at draws of the prior, and the first poses drawn."""
    model = problem.model
    rng = seeds.generator(context.seed, context.study, "prior")
    inputs = jnp.asarray(rng.normal(size=(_N_PRIOR_DRAWS, model.n_inputs)))
    observed = jnp.asarray(problem.observed[0])
    # What the chains solve for, differentiated as it stands.
    constraint = generator.conditioned_model(model, observed, problem.noise_scale).constraint

    def at(u: Array) -> tuple[Array, Array, Array]:
        point = noisy_input(lambda own: generator.generate(model, own), u, observed, problem.noise_scale)
        return (
            generator.positions(model, u),
            generator.generator_jacobian(model, u),
            jax.jacrev(constraint)(point),
        )

    poses, matrices, noisy = map(np.asarray, jax.jit(lambda many: jax.lax.map(at, many))(inputs))
    smallest, smallest_noisy = (np.linalg.svd(m, compute_uv=False).min(axis=-1) for m in (matrices, noisy))
    statistics = {
        "rank": ("jacobian", np.linalg.matrix_rank(matrices)),
        "smallest_singular_value": ("jacobian", smallest),
        "smallest_noisy_singular_value": ("jacobian", smallest_noisy),
    }
    shown = _array(poses[:_N_PRIOR_POSES], ("prior_pose", "joint", "axis"))
    return xr.Dataset(statistics), shown.to_dataset(name="prior_position")


def _scene_curves(problem: Problem) -> xr.Dataset:
    images = problem.observed.reshape(len(problem.scenes), -1, 2, N_JOINTS)
    coords = {"scene": list(problem.scenes), **_image_coordinates(images.shape[1])}
    data = xr.Dataset({"observed": (("scene", "view", "image_axis", "joint"), images)}, coords)
    if np.isfinite(problem.truth).all():
        data["true_position"] = _true_positions(problem)
    return data


def _true_positions(problem: Problem) -> xr.DataArray:
    truth = _array(problem.truth, ("scene", "joint", "axis"))
    return truth.assign_coords(scene=list(problem.scenes))


def _array(values: Any, dims: tuple[str, ...]) -> xr.DataArray:
    array = xr.DataArray(np.asarray(values), dims=dims)
    return array.assign_coords(joint=list(JOINT_NAMES), axis=list(AXES))
