"""Checks of the arguments of constructors, whose messages name the argument."""

from collections.abc import Sequence
from typing import Any

__all__ = ["fields_at_least", "one_of", "positive_whole"]


def positive_whole(**numbers: int) -> None:
    """Refuses numbers below 1.

    Raises:
        ValueError: one of them is.

    >>> positive_whole(dim=0)
    Traceback (most recent call last):
    ValueError: dim must be a positive whole number, got 0
    """
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} must be a positive whole number, got {number}")


def fields_at_least(least: int, settings: Any, *names: str) -> None:
    """Refuses settings of which a field is too small.

    Args:
        least: smallest value allowed.
        settings: with these fields.
        names: of the fields.

    Raises:
        ValueError: a field is below `least`.
    """
    for name in names:
        if getattr(settings, name) < least:
            raise ValueError(f"{name} must be at least {least}, got {getattr(settings, name)}")


def one_of(allowed: Sequence[str], **choices: str) -> None:
    """Refuses words that are not in a list.

    Raises:
        ValueError: one of them is not.

    >>> one_of(("red", "blue"), colour="green")
    Traceback (most recent call last):
    ValueError: colour must be one of red, blue, got 'green'
    """
    for name, choice in choices.items():
        if choice not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {choice!r}")
