"""Chains at many sweep points in one compiled program, and the context in which a study runs them."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.driver.blocks import Program, Sampler, over_devices, run_program, trace_sampler
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import stream
from auxmc.numerics.array_types import NamedArrays
from auxmc_pipeline.settings import CaseSettings
from auxmc_pipeline.units import Units

# Seconds next to the recorded quantities of a unit, whose names have no dots.
_COMPILE_S, _RUN_S = "seconds.compile", "seconds.run"


@dataclasses.dataclass
class RunContext:
    """Where a case runs: names of its random streams, checkpoints, progress."""

    study: str  # name of the study, first part of every stream's name
    seed: int  # root seed
    checkpoints: Path  # folder for the case's checkpoints
    identity: str  # digest of settings, code and data; a checkpoint with another one is discarded
    label: str  # what progress lines begin with
    # Who makes which part of the work; one job makes all unless it says otherwise.
    units: Units = dataclasses.field(default_factory=Units)
    n_resumed: int = 0  # iterations that the case has taken over from checkpoints so far


class Chains(NamedTuple):
    """Recorded quantities of all chains at all sweep points, each [*sweep, chain, draw, ...] in the order of `axes`.

    The axes are names and values of the swept settings; seconds are of all chains at all sweep points together.
    """

    draws: dict[str, np.ndarray]
    axes: dict[str, np.ndarray]
    compile_s: float
    run_s: float

    @property
    def n_lanes(self) -> int:
        """Number of chains at all sweep points together."""
        return int(np.prod(next(iter(self.draws.values())).shape[: len(self.axes) + 1]))


def run_chains(
    context: RunContext,
    names: Sequence[str | int],
    sampler: Sampler,
    settings: CaseSettings,
    *,
    n_draws: int | None = None,
    n_chains: int | None = None,
    block_size: int | None = None,
    sweep: Mapping[str, Sequence[float]] = MappingProxyType({}),
    starts: Any = None,
    vectorise: bool = True,
    lanes_per_unit: int | None = None,
) -> Chains:
    """Runs chains, at every combination of swept numbers where there are any.

    A chain's stream depends on its names, its sweep point's values and its number alone: more chains or sweep points
    change no other chain. UnitsMissing is raised, after the own units were made, if others are the work of other jobs.

    Args:
        context: streams, checkpoints and progress of the case.
        names: what these chains are (data set, method, purpose, ...): independent sets of chains need different names.
        sampler: what a chain does; its parameters are a dict of its swept numbers, float64 scalars, and its `start`.
        settings: those of the case, whose numbers of iterations and chains and size of a block hold unless given here.
        n_draws: iterations of each chain.
        n_chains: chains at each combination, at least 1.
        block_size: iterations between checkpoints.
        sweep: values of each swept number.
        starts: pytree of arrays [chain, ...], of which every chain finds its own under the name `start`; None for none.
        vectorise: side by side (`vmap`) or one after the other (`lax.map`); see `blocks.trace_sampler`.
        lanes_per_unit: chains, over all sweep points, that one program runs, None for all; several jobs may share a
            case's units. A number that changes may change the last bits of the draws.
    """
    n_draws = settings.n_draws if n_draws is None else n_draws
    n_chains = settings.n_chains if n_chains is None else n_chains
    block_size = settings.block_size if block_size is None else block_size
    axes = {name: np.asarray(values, dtype=float) for name, values in sweep.items()}
    points = list(itertools.product(*axes.values()))
    lanes = [(point, chain) for point in points for chain in range(n_chains)]
    parameters: dict[str, Any] = {
        name: jnp.asarray([point[i] for point, _ in lanes], dtype=jnp.float64) for i, name in enumerate(axes)
    }
    if starts is not None:
        numbers = np.array([chain for _, chain in lanes])
        parameters["start"] = jax.tree.map(lambda array: jnp.asarray(array)[numbers], starts)
    words = {point: [f"{name}={x:.12g}" for name, x in zip(axes, point, strict=True)] for point in points}
    streams = (stream(context.seed, context.study, *names, *words[point], chain) for point, chain in lanes)
    # By NumPy: a program that stacks thousands of keys compiles for minutes.
    keys = jax.random.wrap_key_data(jnp.asarray(np.stack([jax.random.key_data(key) for key in streams])))
    purpose = "-".join(map(str, names))
    size = lanes_per_unit or len(lanes)
    units = [slice(first, first + size) for first in range(0, len(lanes), size)]
    # The last unit may have fewer lanes than the others.
    programs: dict[int, Program] = {}

    def make(number: int) -> NamedArrays:
        own, own_keys = over_devices(
            (jax.tree.map(lambda values: values[units[number]], parameters), keys[units[number]])
        )
        n_lanes, compile_s = len(own_keys), 0.0
        if n_lanes not in programs:
            programs[n_lanes] = trace_sampler(
                sampler, own, own_keys, n_draws=n_draws, block_size=block_size, vectorise=vectorise
            ).compile()
            compile_s = programs[n_lanes].compile_s
        folder, label = context.checkpoints / purpose, purpose
        if len(units) > 1:
            folder, label = folder / f"unit-{number}", f"{purpose}, {number + 1} of {len(units)}"
        samples = run_program(
            programs[n_lanes],
            own,
            own_keys,
            checkpoint=Checkpoint(folder, context.identity),
            progress=Progress(f"{context.label} [{label}]"),
        )
        context.n_resumed += samples.n_resumed
        compile_s += samples.compile_s - programs[n_lanes].compile_s
        return samples.draws | {_COMPILE_S: np.asarray(compile_s), _RUN_S: np.asarray(samples.run_s)}

    made = context.units.stage(purpose, len(units), make)
    seconds = {name: float(sum(unit[name] for unit in made)) for name in (_COMPILE_S, _RUN_S)}
    shape = (*(len(values) for values in axes.values()), n_chains)
    draws = {
        # One unit needs no copy: draws of many chains are most of the memory of a case.
        name: array if len(made) == 1 else np.concatenate([unit[name] for unit in made])
        for name, array in made[0].items()
        if "." not in name
    }
    draws = {name: array.reshape(*shape, *array.shape[1:]) for name, array in draws.items()}
    jax.clear_caches()
    return Chains(draws, axes, seconds[_COMPILE_S], seconds[_RUN_S])
