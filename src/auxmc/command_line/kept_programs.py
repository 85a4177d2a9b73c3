"""Compiled programs of the commands, kept in the user's cache."""

import os

import platformdirs


def keep_programs() -> None:
    """Sets JAX's compilation cache to `programs` in the user's cache of `auxmc`.

    Nothing changes if a cache is set, `AUXMC_COMPILATION_CACHE` is `off`, or the folder cannot be written to.
    """
    import jax

    current = jax.config.values["jax_compilation_cache_dir"]
    if current is not None or os.environ.get("AUXMC_COMPILATION_CACHE") == "off":
        return
    folder = platformdirs.user_cache_path("auxmc") / "programs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if os.access(folder, os.W_OK):
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
