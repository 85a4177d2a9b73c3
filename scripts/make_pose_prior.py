"""Writes the joint-angle prior of the human pose study from motion clips: angles, decoder weights, training curve.

    python scripts/make_pose_prior.py [--motions DIR] [--output src/auxmc/data] [--steps 40000]

The clips come with the PyPI package pybullet (extra `data`), or from any folder with files `humanoid3d_*.txt`. Makes

* `pose_angles.npz`: the clips' joint angles, float32 [frame, 47], and which clip each frame is of;
* `pose_prior.npz`: weights of the decoder, float32;
* `pose_prior_training.csv`: loss on training and held-out frames against the step.

Takes about two minutes on one core. The same machine and versions give the same files; others agree to rounding, which
training amplifies.
"""

import argparse
import csv
import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from motion_clips import HEADING_SPREAD, SPREADS, Clips, mirrored, read_clips, with_heading

from auxmc.driver.runtime import configure
from auxmc.errors import DataError
from experiments.human_pose.model.body_proportions import log_length_distribution
from experiments.human_pose.model.kinematics import joint_positions
from experiments.human_pose.model.prior import decode
from experiments.human_pose.model.skeleton import N_ANGLES

DEFAULT_OUTPUT = Path(__file__).parents[1] / "experiments" / "human_pose" / "model"
SEED = 20170717
N_CODE, N_HIDDEN, N_HIDDEN_LAYERS = 30, 50, 6
BATCH, CHUNK = 256, 500
LEARNING_RATE = 3e-3
# Standard deviation of the log radius of a pair (cosine part, sine part). With 1 noise would turn angles round: a
# radius of mean 1.6 and standard deviation 2.2 is fitted by a normal distribution that is negative in every fourth
# draw.
LOG_RADIUS_SPREAD = 0.1
# Every angle varies at least so much, in radians: channels that a clip holds still would have no density.
JITTER = 0.03
COPIES = 8
# Clips in which the body leaves the upright stance count a quarter of the others.
GROUND_CLIPS = ("backflip", "cartwheel", "crawl", "getup_facedown", "getup_faceup", "roll")
GROUND_WEIGHT = 0.25
# The middle tenth of each clip is held out.
HELD_OUT = (0.45, 0.55)

Network = tuple[list[Array], list[Array]]


class Frames(NamedTuple):
    """Poses to learn from: angles [row, 47] and their probabilities, summed up [row]."""

    angles: Array
    cumulative: Array


def main() -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--motions", type=Path, help="folder of clips; by default that of pybullet_data")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="folder to write to")
    parser.add_argument("--steps", type=int, default=40_000, help="steps of the optimiser")
    options = parser.parse_args()
    configure("cpu")
    try:
        clips = read_clips(options.motions or motions_folder())
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    np.savez_compressed(
        options.output / "pose_angles.npz",
        angles=clips.angles.astype(np.float32),
        clip=clips.clip.astype(np.int8),
        names=np.array(clips.names),
    )
    print(f"{len(clips.angles)} frames of {len(clips.names)} clips")
    decoder, encoder, curve = train(clips, options.steps)
    weights = {f"W_{i}": np.asarray(weight) for i, weight in enumerate(decoder[0])}
    biases = {f"b_{i}": np.asarray(bias) for i, bias in enumerate(decoder[1])}
    path = options.output / "pose_prior.npz"
    np.savez(path, **weights, **biases)  # type: ignore[arg-type]
    write_curve(options.output / "pose_prior_training.csv", curve)
    report(clips, decoder, encoder)
    for name in ("pose_angles.npz", "pose_prior.npz"):
        file = options.output / name
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {name}  ({file.stat().st_size} bytes)")
    return 0


def motions_folder() -> Path:
    """Folder of the clips in the installed package pybullet_data.

    Raises:
        DataError: the package is not installed.
    """
    found = importlib.util.find_spec("pybullet_data")
    if found is None or not found.submodule_search_locations:
        raise DataError(
            "the package pybullet is not installed: install the extra `data` of this project, or give the folder of "
            "the clips with --motions DIR"
        )
    return Path(found.submodule_search_locations[0]) / "data" / "motions"


def prepared(clips: Clips, *, held_out: bool, seed: int) -> Frames:
    """Copies of the poses with random headings, half of them mirrored, and the weights of their clips."""
    place = np.concatenate([np.linspace(0.0, 1.0, n) for n in np.bincount(clips.clip)])
    inside = (place >= HELD_OUT[0]) & (place < HELD_OUT[1])
    chosen = inside if held_out else ~inside
    angles, clip = clips.angles[chosen], clips.clip[chosen]
    rng = np.random.default_rng(seed)
    copies = [
        with_heading(one, rng.normal(scale=HEADING_SPREAD, size=len(one)))
        for index in range(COPIES)
        for one in [mirrored(angles) if index % 2 else angles]
    ]
    weight = np.array([GROUND_WEIGHT if name in GROUND_CLIPS else 1.0 for name in clips.names])
    per_frame = np.tile((weight / np.bincount(clip, minlength=len(weight)))[clip], COPIES)
    cumulative = np.cumsum(per_frame) / per_frame.sum()
    return Frames(jnp.asarray(np.concatenate(copies), jnp.float32), jnp.asarray(cumulative, jnp.float32))


def train(clips: Clips, n_steps: int) -> tuple[Network, Network, list[tuple[int, float, float]]]:
    """Trains the autoencoder; returns decoder, encoder and the losses by step."""
    frames = prepared(clips, held_out=False, seed=SEED)
    others = prepared(clips, held_out=True, seed=SEED + 1)
    keys = jax.random.split(jax.random.key(SEED), 4)
    parameters = (
        new_network(keys[0], [N_CODE, *[N_HIDDEN] * N_HIDDEN_LAYERS, 4 * N_ANGLES]),
        new_network(keys[1], [2 * N_ANGLES, *[N_HIDDEN] * N_HIDDEN_LAYERS, 2 * N_CODE]),
    )
    schedule = optax.cosine_decay_schedule(LEARNING_RATE, n_steps, alpha=1e-3)
    optimiser = optax.adam(schedule)

    def update(carry: Any, step: tuple[Array, Array]) -> tuple[Any, Array]:
        (parameters, state), (key, divergence_weight) = carry, step
        loss, gradient = jax.value_and_grad(negative_bound)(parameters, key, frames, divergence_weight)
        change, state = optimiser.update(gradient, state)
        return (optax.apply_updates(parameters, change), state), loss

    run = jax.jit(lambda carry, steps: jax.lax.scan(update, carry, steps))
    # The divergence from the prior counts in full from half of the way: else code values are given up before they
    # are used.
    divergence_weights = jnp.clip(2.0 * jnp.arange(1, n_steps + 1) / n_steps, 0.0, 1.0).astype(jnp.float32)
    held_out_loss = jax.jit(
        lambda parameters, key: jnp.mean(
            jax.lax.map(lambda k: negative_bound(parameters, k, others), jax.random.split(key, 16))
        )
    )
    carry, curve = (parameters, optimiser.init(parameters)), []
    for chunk in range(max(1, n_steps // CHUNK)):
        step_keys = jax.random.split(jax.random.fold_in(keys[2], chunk), CHUNK)
        carry, losses = run(carry, (step_keys, divergence_weights[chunk * CHUNK : (chunk + 1) * CHUNK]))
        row = ((chunk + 1) * CHUNK, float(losses.mean()), float(held_out_loss(carry[0], keys[3])))
        curve.append(row)
        print(
            f"step {row[0]} of {n_steps}: loss {row[1]:.2f} nats, on held-out frames {row[2]:.2f}", flush=True
        )
    decoder, encoder = carry[0]
    return decoder, encoder, curve


def new_network(key: Array, sizes: list[int]) -> Network:
    """Weights [in, out] with variance 1 / in, and zero biases, float32."""
    keys = jax.random.split(key, len(sizes) - 1)
    weights = [
        jax.random.normal(k, (m, n), jnp.float32) / np.float32(np.sqrt(m))
        for k, m, n in zip(keys, sizes, sizes[1:], strict=False)
    ]
    return weights, [jnp.zeros(n, jnp.float32) for n in sizes[1:]]


def negative_bound(
    parameters: tuple[Network, Network], key: Array, frames: Frames, divergence_weight: Array | float = 1.0
) -> Array:
    """Negative evidence lower bound of a random batch, in nats a pose; with weight below 1 an easier objective."""
    decoder, encoder = parameters
    keys = jax.random.split(key, 5)
    uniforms = jax.random.uniform(keys[0], (BATCH,), jnp.float32)
    rows = jnp.minimum(jnp.searchsorted(frames.cumulative, uniforms), len(frames.angles) - 1)
    spread = np.full(N_ANGLES, JITTER, np.float32)
    spread[list(SPREADS)] = list(SPREADS.values())
    noise = jax.random.normal(keys[1], (BATCH, N_ANGLES), jnp.float32)
    angles = frames.angles[rows] + spread * noise
    log_radius = LOG_RADIUS_SPREAD * jax.random.normal(keys[2], (BATCH, N_ANGLES), jnp.float32)
    pairs = jnp.exp(log_radius)[:, None, :] * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
    pairs = pairs.reshape(BATCH, 2 * N_ANGLES)
    mean, log_variance = jnp.split(decode(*encoder, pairs), 2, axis=-1)
    code = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(keys[3], mean.shape, jnp.float32)
    divergence = 0.5 * jnp.sum(jnp.exp(log_variance) + mean**2 - 1.0 - log_variance, axis=-1)
    means, log_variances = jnp.split(decode(*decoder, code), 2, axis=-1)
    misfit = jnp.sum(log_variances + (pairs - means) ** 2 * jnp.exp(-log_variances), axis=-1)
    return jnp.mean(divergence_weight * divergence + 0.5 * misfit)


def report(clips: Clips, decoder: Network, encoder: Network) -> None:
    """Prints how far joints of held-out poses are from those of their reconstructions."""
    others = prepared(clips, held_out=True, seed=SEED + 1)
    lengths = jnp.asarray(np.exp(log_length_distribution()[0]))
    pairs = jnp.concatenate([jnp.cos(others.angles), jnp.sin(others.angles)], axis=-1)
    code, log_variance = jnp.split(decode(*encoder, pairs), 2, axis=-1)
    outputs = decode(*decoder, code).reshape(-1, 4, N_ANGLES)
    found = jnp.arctan2(outputs[:, 1], outputs[:, 0])
    place = jax.jit(jax.vmap(lambda angles: joint_positions(angles.astype(jnp.float64), lengths)))
    distance = np.linalg.norm(np.asarray(place(found) - place(others.angles)), axis=-1)
    weight = np.diff(np.asarray(others.cumulative), prepend=0.0)
    mean = np.average(distance.mean(axis=-1), weights=weight)
    used = int(np.sum(np.asarray(jnp.mean(log_variance, axis=0)) < np.log(0.5)))
    print(f"held-out poses: joints {100 * mean:.1f} cm from those of the reconstruction on average")
    print(
        f"{used} of {N_CODE} code values are used (mean log posterior variance below that of half the prior)"
    )


def write_curve(path: Path, curve: list[tuple[int, float, float]]) -> None:
    """Writes losses by step as CSV."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["step", "training_loss_nats", "held_out_loss_nats"])
        for step, training, held_out in curve:
            writer.writerow([step, f"{training:.4f}", f"{held_out:.4f}"])


if __name__ == "__main__":
    sys.exit(main())
