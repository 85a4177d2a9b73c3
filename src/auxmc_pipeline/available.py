"""Which of several methods or cases a preset runs."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from auxmc_pipeline.tables import MissingData

Name = TypeVar("Name")
Found = TypeVar("Found")


def available(read: Callable[[Name], Found], names: Iterable[Name]) -> dict[Name, Found]:
    """What a function reads for each name, without the names that the tables do not hold; raises MissingData for none.

    >>> from auxmc_pipeline.tables import Tables
    >>> import pandas as pd
    >>> tables = Tables({"point": pd.DataFrame({"ess": [2.0]})})
    >>> available(tables.value, ["ess", "acceptance"])
    {'ess': 2.0}
    """
    found, missing = {}, MissingData("nothing is asked for")
    for name in names:
        try:
            found[name] = read(name)
        except MissingData as error:
            missing = error
    if not found:
        raise missing
    return found
