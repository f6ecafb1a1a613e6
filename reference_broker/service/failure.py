"""An error that ends a program, as a person wants to read it: one line, never a traceback
(``MQKIT_TRACEBACK=1`` asks for one)."""

from __future__ import annotations

from mqkit.extras import advice
from reference_broker.errors import ReferenceBrokerError

EXIT_ERROR = 1
TRACEBACK_VARIABLE = "MQKIT_TRACEBACK"


def in_words(error: Exception, extra: str) -> str:
    """The error, with what to do where it can be told. ``extra`` is the one that brings the
    program."""
    if isinstance(error, ReferenceBrokerError):
        return str(error)
    if isinstance(error, OSError):
        return _of_the_system(error)
    if isinstance(error, ModuleNotFoundError) and (line := advice(error, extra)):
        return line
    return (
        f"unexpected {type(error).__name__}: {error}"
        f" (this is a defect of mqkit; {TRACEBACK_VARIABLE}=1 shows where)"
    )


_FILES = {
    FileNotFoundError: "check the path",
    IsADirectoryError: "name a file in it",
    NotADirectoryError: "check the path",
    PermissionError: "check who may read and write it",
}
"""Advice for a file that can't be used."""


def _of_the_system(error: OSError) -> str:
    reason = error.strerror or str(error)
    if not error.filename:
        return reason
    advice = _FILES.get(type(error))
    return f"{error.filename}: {reason}" + (f" ({advice})" if advice else "")
