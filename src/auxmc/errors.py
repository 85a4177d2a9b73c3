"""Exceptions and warnings of the package; wrong arguments raise `ValueError` and `TypeError`."""


class AuxmcError(Exception):
    """Base of all exceptions here."""


class CommandError(AuxmcError):
    """A command cannot continue, and the message says why.

    Args:
        message: cause, place and advice.
        code: exit status; 2 where nothing has been started, 1 where earlier results are kept.
    """

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


class DamagedFile(AuxmcError, OSError):
    """A file does not hold what was written to it."""


class DataError(AuxmcError, ValueError):
    """Data cannot be used; the message names source, row and column."""


class FolderInUse(AuxmcError):
    """Another process works in the folder; the message names the lock and, where known, the process."""


class HardwareError(AuxmcError, RuntimeError):
    """The requested kind of device does not exist."""


class Interrupted(AuxmcError):
    """A chain was asked to stop after its current block."""


class ModelError(AuxmcError, ValueError):
    """A model file cannot be used; the message names the file and the function."""


class PieceError(AuxmcError, ValueError):
    """The pieces of a case are incomplete or do not fit together; the message names the file."""


class PrecisionError(AuxmcError, RuntimeError):
    """JAX computes in single precision."""


class UnitsMissing(AuxmcError):
    """The next stage needs units that other jobs compute; those of this job are done."""


class SamplingWarning(UserWarning):
    """Draws, or an estimate from them, are not reliable as they are."""
