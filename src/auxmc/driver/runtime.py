"""The one place where JAX is set up: precision, device, threads, compilation cache."""

import gc
import importlib.metadata
import importlib.util
import logging
import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from auxmc.errors import HardwareError

# Chains are compiled programs, and points outside a support are evaluated on purpose.
_DEBUGGING = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs")

# Level 2 compiles in about half the time of the default, 3; programs are as fast within a tenth, either way.
_LEVEL = "xla_backend_optimization_level"
_compiles_fast = False


def compiler_options(*, once: bool = False) -> dict[str, str | bool]:
    """Options of XLA for `jax.stages.Lowered.compile`, where `once` means that compiling takes longer than running.

    An optimisation level in XLA_FLAGS takes precedence.
    """
    if _LEVEL in os.environ.get("XLA_FLAGS", ""):
        return {_LEVEL: "0"} if once and _compiles_fast else {}
    return {_LEVEL: "0" if once else "2"}


@contextmanager
def importing() -> Iterator[None]:
    """Keeps what is imported within out of garbage collections, which take up to a fifth of a short run."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def limit_threads() -> None:
    """One thread a case, unless the environment says otherwise; to be called before NumPy is imported.

    The number of threads changes the last bits of LAPACK results and of reductions, and cases run side by side.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        os.environ.setdefault(name, "1")


def leave_debugging() -> None:
    """Switches off settings of JAX that chains cannot run with, and says so; RuntimeError if a context holds one."""
    import jax

    for name in _DEBUGGING:
        if getattr(jax.config, name):
            jax.config.update(name, False)
            if getattr(jax.config, name):
                raise RuntimeError(f"{name}: expected False, got True from a context: call auxmc outside")
            text = f"auxmc: {name} is now False: chains are compiled, and pass points of no density"
            print(text, file=sys.stderr)


def has_xla_flag(name: str) -> bool:
    """Whether the installed jaxlib has a flag of XLA. One that it does not have, in XLA_FLAGS, ends the process."""
    package = importlib.util.find_spec("jaxlib")
    for library in Path(package.origin or "").parent.glob("libjax_common.*") if package else ():
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(f"{name}\0".encode()) >= 0
    return False


def configure(
    hardware: str = "cpu", compilation_cache: Path | None = None, *, compiles_fast: bool = False
) -> str:
    """Switches on float64, selects the device and fixes the number of threads, before JAX is first used.

    Args:
        hardware: "cpu", "gpu" (HardwareError where there is none: JAX alone would take the CPU in silence), or "auto".
        compilation_cache: folder for compiled programs, kept apart by jaxlib version and processor model
            because programs compiled elsewhere can crash; None switches the cache off.
        compiles_fast: take the older code generator, a fifth less time and programs as fast, and compile programs
            that run once without optimisation; other last bits.

    Returns:
        The kind of device in use, "cpu" or "gpu".
    """
    global _compiles_fast
    _compiles_fast = compiles_fast
    limit_threads()
    if hardware == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    elif "JAX_PLATFORMS" in os.environ and hardware == "gpu":
        del os.environ["JAX_PLATFORMS"]
    # One thread compiles, which takes up to a tenth longer where it gets a program in parts; the bits are the same.
    flags = [f"{_LEVEL}=2", "xla_cpu_parallel_codegen_split_count=1"]
    for flag in flags + ["xla_cpu_use_fusion_emitters=false"] * compiles_fast:
        given = os.environ.get("XLA_FLAGS", "")
        if flag.split("=")[0] not in given and has_xla_flag(flag.split("=")[0]):
            os.environ["XLA_FLAGS"] = f"{given} --{flag}".strip()
    logging.getLogger("jax").setLevel(logging.WARNING)

    import jax

    leave_debugging()
    jax.config.update("jax_enable_x64", True)
    if compilation_cache is not None:
        # Imported late: what it imports imports JAX.
        from auxmc.driver.provenance import processor_kind

        folder = compilation_cache / f"{importlib.metadata.version('jaxlib')}-{processor_kind()}"
        folder.mkdir(parents=True, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    device = jax.default_backend()
    if hardware == "gpu" and device != "gpu":
        advice = "install the extra 'gpu' on a machine with an NVIDIA driver, or use hardware=auto"
        raise HardwareError(f"hardware=gpu, but JAX finds no GPU here: {advice}")
    return device
