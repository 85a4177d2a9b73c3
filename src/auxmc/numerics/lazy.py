"""Names of a package that are imported when they are first asked for."""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any


def lazy_names(package: str, table: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package that imports each name when it is first asked for.

    The table has a line for each module of `auxmc`, with the names that it has; a module alone is a name itself.
    """
    where: dict[str, str] = {}
    for module, *names in map(str.split, table.strip().splitlines()):
        own = {module.rpartition(".")[2]: f"auxmc.{module}"}
        where |= {name: f"auxmc.{module}:{name}" for name in names} or own

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return resolve_name(where[name])

    return sorted(where), find, lambda: sorted(where)
