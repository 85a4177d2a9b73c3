"""Chains at many sweep points in one compiled program, and the context in which a study runs them."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.driver.blocks import Sampler, sample
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import stream

__all__ = ["Chains", "RunContext", "run_chains"]


@dataclasses.dataclass
class RunContext:
    """Where a case runs: names of its random streams, checkpoints, progress.

    Attributes:
        study: name of the study, first part of every stream's name.
        seed: root seed.
        checkpoints: folder for the case's checkpoints.
        identity: digest of settings, code and data; a checkpoint with another one is discarded.
        label: what progress lines begin with.
        n_resumed: iterations that the case has taken over from checkpoints so far.
    """

    study: str
    seed: int
    checkpoints: Path
    identity: str
    label: str
    n_resumed: int = 0


class Chains(NamedTuple):
    """Recorded quantities of all chains at all sweep points.

    Attributes:
        draws: each quantity as [*sweep, chain, draw, ...], in the order of `axes`.
        axes: names and values of the swept settings.
        compile_s: seconds of tracing and compiling.
        run_s: seconds of running, all chains at all sweep points together.
    """

    draws: dict[str, np.ndarray]
    axes: dict[str, np.ndarray]
    compile_s: float
    run_s: float

    @property
    def n_lanes(self) -> int:
        """Number of chains at all sweep points together."""
        array = next(iter(self.draws.values()))
        return int(np.prod(array.shape[: len(self.axes) + 1]))


def run_chains(
    context: RunContext,
    names: Sequence[str | int],
    sampler: Sampler,
    *,
    n_draws: int,
    n_chains: int,
    sweep: Mapping[str, Sequence[float]],
    block_size: int,
    vectorise: bool = True,
) -> Chains:
    """Runs `n_chains` chains at every combination of the swept numbers.

    Args:
        context: streams, checkpoints and progress of the case.
        names: what these chains are, for their random streams (data set, method, purpose, ...): two sets of
            chains of one study that must be independent need different names.
        sampler: what a chain does; its swept numbers arrive as a dict of float64 scalars.
        n_draws: iterations of each chain.
        n_chains: chains at each combination, at least 1.
        sweep: values of each swept number; at least one name with one value.
        block_size: iterations between checkpoints.
        vectorise: side by side (`vmap`) or one after the other (`lax.map`); see `blocks.sample`.

    Returns:
        Chains. A chain's stream depends on its names, its sweep point's values and its number alone, so that
        more chains or more sweep points change no other chain.
    """
    axes = {name: np.asarray(values, dtype=float) for name, values in sweep.items()}
    points = list(itertools.product(*axes.values()))
    lanes = [(point, chain) for point in points for chain in range(n_chains)]
    parameters = {
        name: jnp.asarray([point[i] for point, _ in lanes], dtype=jnp.float64) for i, name in enumerate(axes)
    }
    keys = jnp.stack(
        [
            stream(
                context.seed,
                context.study,
                *names,
                *(f"{name}={value:.12g}" for name, value in zip(axes, point, strict=True)),
                chain,
            )
            for point, chain in lanes
        ]
    )
    purpose = "-".join(str(name) for name in names)
    checkpoint = Checkpoint(context.checkpoints / purpose, context.identity)
    samples = sample(
        sampler,
        parameters,
        keys,
        n_draws=n_draws,
        block_size=block_size,
        vectorise=vectorise,
        checkpoint=checkpoint,
        progress=Progress(f"{context.label} [{purpose}]"),
    )
    shape = (*(len(values) for values in axes.values()), n_chains)
    draws = {name: array.reshape(*shape, *array.shape[1:]) for name, array in samples.draws.items()}
    context.n_resumed += samples.n_resumed
    jax.clear_caches()
    return Chains(draws, axes, samples.compile_s, samples.run_s)
