"""The check of what a middleware around a publish returns."""

from __future__ import annotations

from mqkit.errors import ConfigurationError
from mqkit.outcome import Confirmed, Outcome, Rejected, Unknown


def checked_outcome(middleware: object, returned: object, instead: str) -> Outcome:
    """The outcome that ``middleware`` returned.

    Raises :exc:`~mqkit.errors.ConfigurationError` where that is none, with the code to write
    ``instead``: a middleware that forgets its ``return`` would hide every outcome.
    """
    if isinstance(returned, (Confirmed, Rejected, Unknown)):
        return returned
    name = getattr(middleware, "__qualname__", type(middleware).__qualname__)
    raise ConfigurationError(
        f"the middleware {name} returned {returned!r:.80} and not an outcome (the message may have"
        f" been published): {instead}"
    )
