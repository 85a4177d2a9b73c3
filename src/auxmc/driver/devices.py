"""Lanes over all devices of a node."""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding


def over_devices(lanes: Any) -> Any:
    """Divides lanes among all devices that JAX sees, where their number is a multiple of that of the devices.

    Programs compiled for such lanes run on all devices; lanes need nothing of each other.

    Args:
        lanes: pytree of arrays [lane, ...], all of one number of lanes.

    Returns:
        The same values; the very arrays where there is one device or the lanes cannot be divided evenly.
    """
    devices = jax.devices()
    n_lanes = jax.tree.leaves(lanes)[0].shape[0]
    if len(devices) == 1 or n_lanes % len(devices):
        return lanes
    mesh = Mesh(np.array(devices), ("lane",))
    return jax.device_put(lanes, NamedSharding(mesh, PartitionSpec("lane")))


def lane_sharding(lanes: Any) -> Sharding | None:
    """How `over_devices` has divided lanes; None where it has not."""
    sharding = getattr(jax.tree.leaves(lanes)[0], "sharding", None)
    return sharding if isinstance(sharding, NamedSharding) else None
