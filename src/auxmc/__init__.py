"""Auxiliary-variable Markov chain Monte Carlo and evidence estimation, as reproducible experiments."""


def __getattr__(name: str) -> str:
    """The version, which stands in pyproject.toml alone; read when it is asked for, so that imports stay cheap.

    Raises:
        importlib.metadata.PackageNotFoundError: the package is on the path and was never installed.
    """
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib.metadata

    return importlib.metadata.version("auxmc")
