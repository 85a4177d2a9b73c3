"""What a command says when it cannot go on."""

__all__ = ["CommandError"]


class CommandError(Exception):
    """A message for the user, who can mend what it names.

    Args:
        message: what is wrong, where, and what to do.
        code: exit status; 2 where nothing has been begun, 1 where what was done before is kept.
    """

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code
