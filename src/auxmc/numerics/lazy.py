"""Names of a package that are imported when they are first asked for."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package that imports each name when it is first asked for.

    Args:
        package: its `__name__`.
        modules: names, separated by spaces, of each module; those of an empty string are the module's own.
    """
    where = {name: module for module, names in modules.items() for name in names.split()}
    own = {module.rpartition(".")[2]: module for module, names in modules.items() if not names}

    def find(name: str) -> Any:
        if name in own:
            return importlib.import_module(own[name])
        if name in where:
            return getattr(importlib.import_module(where[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    names = sorted({*where, *own})
    return names, find, lambda: names
