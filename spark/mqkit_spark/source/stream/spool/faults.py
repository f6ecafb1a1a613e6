"""Faults of a spool folder, each in one line that a user can act on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mqkit.errors import MqkitError


class SpoolError(MqkitError):
    """The spool folder can't be used, or does not have what a checkpoint asks for."""


class DataLoss(SpoolError):
    """The files of a batch are gone. Set ``failOnDataLoss`` to false to go on without its rows."""


@contextmanager
def one_line(doing: str) -> Iterator[None]:
    """Errors of the file system inside become a :exc:`SpoolError` that says what was done."""
    try:
        yield
    except MqkitError:  # of which some are OSErrors too
        raise
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise SpoolError(f"{doing}: {why}") from None
