"""What a mutation is: a kernel that is wrapped to be wrong, or a line of the source that is changed."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

__all__ = ["LAYERS", "SourceMutation", "WrappedMutation", "edited", "text_errors"]

LAYERS = {
    "L1": "structural facts of one update",
    "L2": "exact transition matrices on few states",
    "L3": "geometry of integrators",
    "L4": "laws of the random numbers inside an update",
    "L5": "invariance from exact draws",
    "L9": "comparison with closed forms",
    "L10": "estimates of the evidence",
    "L11": "samplers that are biased by design",
    "L15": "handling of failures",
}
"""Layers of checks that mutations are tagged with."""


class WrappedMutation(NamedTuple):
    """A kernel that is built right and then wrapped so that it is wrong.

    Attributes:
        component: what is broken.
        what: what is wrong with it.
        layer: layer that must fail.
        check: runs that layer; its argument names the random numbers. Raises AssertionError if the layer notices.
    """

    component: str
    what: str
    layer: str
    check: Callable[[str], None]


class SourceMutation(NamedTuple):
    """A change of the text of a module, and the tests that must fail then.

    Attributes:
        component: what is broken.
        what: what is wrong with it.
        module: path of the module inside the package, such as "kernels/hamiltonian/hmc.py".
        edits: pairs of a text that occurs exactly once in the module and what takes its place.
        tests: the test, as a node id, that must notice in each layer. Without brackets an id stands for all cases
            of the test; at least one must fail.
        harmless: whether the change is right, so that all its tests must pass: one that fails asks for more than a
            right law.
        error: name of an exception, besides AssertionError, that counts as noticing.
    """

    component: str
    what: str
    module: str
    edits: tuple[tuple[str, str], ...]
    tests: Mapping[str, str]
    harmless: bool = False
    error: str = ""


def edited(text: str, edits: Iterable[tuple[str, str]]) -> str:
    """A text after edits, pairs of what it holds and what takes its place."""
    for old, new in edits:
        text = text.replace(old, new)
    return text


def text_errors(where: str, edits: Iterable[tuple[str, str]], text: str) -> list[str]:
    """Why edits do not fit a text, a sentence that begins with `where` for each that does not."""
    errors = []
    for old, new in edits:
        n = text.count(old)
        if n != 1:
            errors.append(f"{where}: the text occurs {n} times, not once: {old!r}")
        elif old == new:
            errors.append(f"{where}: the text is replaced by itself: {old!r}")
    return errors
