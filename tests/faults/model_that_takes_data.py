"""A density whose start is its data: what `auxmc sample` reads is handed back."""

from typing import Any


def log_density(variables: Any) -> Any:
    """Nothing is sampled."""
    return 0.0


def start(data: Any) -> Any:
    """The data as they were read."""
    return data
