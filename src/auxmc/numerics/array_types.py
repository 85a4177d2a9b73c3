"""Names of the array types that signatures of all layers share; importing them does not import JAX."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""NumPy array of numbers in double precision; its shape stands in the docstring that uses it."""

IntegerArray = NDArray[np.int64]
"""NumPy array of integers: counts, indices, labels."""

BooleanArray = NDArray[np.bool_]
"""NumPy array of truth values: masks, flags."""

NamedArrays = dict[str, NDArray[Any]]
"""Arrays by name: the draws of chains, the record of a stream, the weights of a network."""
