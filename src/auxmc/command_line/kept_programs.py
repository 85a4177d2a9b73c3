"""Compiled programs of the commands, kept in the user's cache: another run of a model need not compile them again."""

import os

import platformdirs

__all__ = ["keep_programs"]


def keep_programs() -> None:
    """Has JAX keep what it compiles in `programs`, in the user's cache of `auxmc`.

    JAX tells programs of other versions and processors apart. Nothing changes where a folder is set already, where
    `AUXMC_COMPILATION_CACHE` is `off`, or where nothing can be written.
    """
    import jax

    its_own = jax.config.values["jax_compilation_cache_dir"]
    if its_own is not None or os.environ.get("AUXMC_COMPILATION_CACHE") == "off":
        return
    folder = platformdirs.user_cache_path("auxmc") / "programs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if os.access(folder, os.W_OK):
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
