"""What produced a result: settings, code, versions, device, time and memory."""

import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGES = ("auxmc", "jax", "jaxlib", "numpy", "scipy", "xarray", "h5netcdf", "hydra-core")


def describe_environment(root: Path) -> dict[str, Any]:
    """Machine, device, threads, package versions and code revision (of the git checkout `root`) of this process.

    JAX must already be configured.
    """
    import jax

    device = jax.devices()[0]
    names = (line.partition(":")[2].strip() for line in _about_processor() if line.startswith("model name"))
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "git_commit": _git(root, "rev-parse", "HEAD") or "not a git checkout",
        "git_dirty": str(bool(_git(root, "status", "--porcelain", "--untracked-files=no"))),
        **package_versions(),
        "platform": platform.platform(),
        "processor": next(names, "") or platform.processor() or platform.machine(),
        "processor_kind": processor_kind(),
        # Those that this process may use: a cluster or a container gives fewer than the machine has.
        "n_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory_gib": round(_memory() / 2**30, 1),
        # A processor has no kind of its own next to "cpu"; `processor` names it.
        "device": device.platform + f": {device.device_kind}" * (device.device_kind != device.platform),
        "threads": {
            name: os.environ.get(name, "unset")
            for name in ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        },
        "jax_settings": {
            name: str(getattr(jax.config, name))
            for name in ("jax_enable_x64", "jax_default_prng_impl", "jax_threefry_partitionable")
        },
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def package_versions() -> dict[str, Any]:
    """Versions of Python and of the packages that numbers depend on: `python`, and `packages` by name."""
    return {"packages": {name: _version(name) for name in _PACKAGES}, "python": platform.python_version()}


def processor_kind() -> str:
    """Short digest of maker, model and instructions of the processor: programs compiled for one kind are the same.

    The name alone does not say it: virtual machines hide the model behind a general one.
    """
    lines = _about_processor()
    words = ("vendor_id", "cpu family", "model", "flags", "CPU implementer", "CPU part", "Features")
    about = {line.replace("\t", "") for line in lines if line.partition(":")[0].strip() in words}
    return fingerprint(sorted(about) or [platform.processor(), platform.machine()])[:8]


def peak_memory_mib() -> float:
    """Largest resident memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def available_memory() -> int:
    """Memory that is free on this machine, or that its control group may have, in bytes."""
    found = [_memory()]
    machine = Path("/proc/meminfo")
    if machine.is_file():
        lines = dict(line.split(":", 1) for line in machine.read_text(encoding="utf-8").splitlines())
        found.append(1024 * int(lines["MemAvailable"].split()[0]))
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        limit = Path("/sys/fs/cgroup") / name
        if limit.is_file() and (text := limit.read_text(encoding="utf-8").strip()).isdigit():
            found.append(int(text))
    return min(found)


def fingerprint(content: Any) -> str:
    """Short digest of plain containers: equal content, equal digest."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@cache
def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _about_processor() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _git(root: Path, *words: str) -> str:
    try:
        command = ["git", "-C", str(root), *words]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
