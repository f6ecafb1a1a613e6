"""The error of an attempt to connect that the network ended: whether anybody had said a word there
until then. Pure, and the same for all adapters."""

from __future__ import annotations

import ssl

from mqkit.errors import Unanswered, Unreachable

_CLOSED_IN_TLS = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""The peer went away in the middle of TLS, which is no word of TLS."""


def unreachable(text: str, cause: BaseException | None, *, heard: bool) -> Unreachable:
    """The error with this ``text`` for an attempt that ``cause`` has ended; ``None`` for the end of
    the stream. ``heard`` says that octets of AMQP, or of another protocol, had come."""
    of_tls = isinstance(cause, ssl.SSLError) and not isinstance(cause, _CLOSED_IN_TLS)
    return Unreachable(text) if heard or of_tls else Unanswered(text)
