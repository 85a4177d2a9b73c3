"""Draws of chains as an ArviZ tree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from auxmc.driver.blocks import Samples
from auxmc.interface.advice import DIVERGED_NATS

__all__ = ["tree_of"]


def tree_of(samples: Sequence[Samples], n_warm_up: int) -> xr.DataTree:
    """Groups of draws with dimensions chain, draw and those of the variables.

    Args:
        samples: recorded quantities of each chain, each [1, iteration, ...], named "group.variable".
        n_warm_up: iterations that belong to the groups of the warm-up.
    """
    groups: dict[str, dict[str, Any]] = {}
    for name in samples[0].draws:
        group, _, variable = name.partition(".")
        array = np.concatenate([chain.draws[name] for chain in samples], axis=0)
        dims = ("chain", "draw", *(f"{variable}_dim_{i}" for i in range(array.ndim - 2)))
        groups.setdefault(group, {})[variable] = (dims, array[:, n_warm_up:])
        if n_warm_up:
            groups.setdefault(f"warmup_{group}", {})[variable] = (dims, array[:, :n_warm_up])
    if "energy_change" in groups["sample_stats"]:
        for group in [name for name in groups if name.endswith("sample_stats")]:
            dims, change = groups[group]["energy_change"]
            groups[group]["diverging"] = (dims, ~(change <= DIVERGED_NATS))
    chains = np.arange(len(samples))
    datasets = {
        name: xr.Dataset(variables).assign_coords(chain=chains) for name, variables in sorted(groups.items())
    }
    for dataset in datasets.values():
        dataset.coords["draw"] = np.arange(dataset.sizes["draw"])
    return xr.DataTree.from_dict(datasets)
