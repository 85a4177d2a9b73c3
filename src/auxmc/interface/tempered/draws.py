"""Draws of the target from tempered chains: states chosen by their weights, and moved on at the target."""

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.interface.densities import Density
from auxmc.interface.tempered.bases import Base
from auxmc.interface.tempered.pilot import share_of_step
from auxmc.kernels.tempering.tempered_move import TemperedState, tempered_hmc
from auxmc.sampling.resampling import systematic_indices

__all__ = ["on_own_scales", "target_draws"]

_UPDATES = 20
_TOGETHER = 32


def target_draws(
    model: Density, tree: xr.DataTree, base: Base, n_steps: int, key: Array, n_draws: int
) -> xr.DataTree:
    """Draws of the target: states of all chains chosen with their weights, in the order of the chains, and moved on.

    A state with a large weight is chosen several times; updates that leave the target invariant make its copies
    different draws.

    Args:
        model: the target.
        tree: tempered chains, with the weights of their states for the target.
        base: with the step size at the target.
        n_steps: leapfrog steps of an update.
        key: of the choice and the updates.
        n_draws: how many.

    Returns:
        ArviZ tree of one chain.

    Source: Gilks and Berzuini 2001, "Following a moving target - Monte Carlo inference for dynamic Bayesian models".
    """
    log_weights = tree["sample_stats"]["log_target_weight"].to_numpy()
    chosen = np.asarray(systematic_indices(key, jnp.asarray(log_weights.ravel()), n_draws))
    dataset = tree["posterior"].to_dataset()
    arrays = {
        name: dataset[name].to_numpy().reshape(log_weights.size, *shape)[chosen]
        for name, shape in zip(model.layout.names, model.layout.shapes, strict=True)
    }
    vectors = np.concatenate([array.reshape(n_draws, -1) for array in arrays.values()], axis=1)
    moved = _moved(vectors, base, n_steps, jax.random.fold_in(key, 1))
    variables, first = {}, 0
    for name, array in arrays.items():
        size = array[0].size
        variables[name] = (dataset[name].dims, moved[:, first : first + size].reshape(1, *array.shape))
        first += size
    posterior = xr.Dataset(variables, coords={"chain": [0], "draw": np.arange(n_draws)})
    return xr.DataTree.from_dict({"posterior": posterior})


def _moved(vectors: np.ndarray, base: Base, n_steps: int, key: Array) -> np.ndarray:
    """Vectors [draw, dim] after some updates each, which leave the target invariant."""
    gaussian, size = base.runs.base, float(base.runs.path.step_sizes[-1])
    scale = np.asarray(gaussian.scale)
    root = scale if scale.ndim == 2 else np.diag(scale)
    standard = np.linalg.solve(root, (vectors - np.asarray(gaussian.mean)).T).T

    def one(position: Array, key: Array) -> Array:
        def update(number: Array, state: TemperedState) -> TemperedState:
            own = jax.random.fold_in(key, number)
            move = tempered_hmc(base.bridge, size * share_of_step(jax.random.fold_in(own, 99)), n_steps)
            return move.apply(move.draw(own), state, jnp.ones(()))[0]

        state = tempered_hmc(base.bridge, size, n_steps).init(key, position)
        return jax.lax.fori_loop(
            jnp.zeros((), jnp.int32), jnp.asarray(_UPDATES, jnp.int32), update, state
        ).position

    # Filled up to whole groups: a last group of its own would be compiled as well.
    n_groups = -(-len(vectors) // _TOGETHER)
    filled = jnp.asarray(np.resize(standard, (n_groups, _TOGETHER, standard.shape[1])))
    keys = jax.random.split(key, (n_groups, _TOGETHER))
    program = jax.jit(lambda points, keys: jax.lax.map(lambda group: jax.vmap(one)(*group), (points, keys)))
    moved = np.asarray(program(filled, keys)).reshape(-1, standard.shape[1])[: len(vectors)]
    return np.asarray(gaussian.mean) + moved @ root.T


def on_own_scales(model: Density, posterior: xr.DataTree) -> xr.DataTree:
    """The draws on the scales that the model keeps, which may be others than those that chains move on."""
    if model.constrained is None:
        return posterior
    dataset = posterior["posterior"].to_dataset()
    vectors = np.concatenate(
        [dataset[name].to_numpy()[0].reshape(dataset.sizes["draw"], -1) for name in model.layout.names],
        axis=1,
    )
    values = jax.vmap(model.values)(jnp.asarray(vectors))
    variables = {
        name: (
            ("chain", "draw", *(f"{name}_dim_{i}" for i in range(array.ndim - 1))),
            np.asarray(array)[None],
        )
        for name, array in values.items()
    }
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables, coords=dataset.coords)})
