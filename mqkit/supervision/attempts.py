"""Attempts to connect: the error to tell of several, and the errors that another attempt will not
change."""

from __future__ import annotations

from collections.abc import Sequence

from mqkit.errors import (
    BrokerError,
    ConnectionRefused,
    DeadlineExceeded,
    MqkitError,
    TransportError,
    Unanswered,
)

_REFUSALS = frozenset({402, 403, 530})
"""Replies that asking again will not change: bad vhost path, bad login, no such vhost."""


def most_telling(problems: Sequence[MqkitError]) -> MqkitError:
    """Of the errors of all hosts, the one to raise: the words of a broker, where one has
    answered; else that of a host where somebody did."""
    return min(problems, key=_silence)


def _silence(problem: MqkitError) -> int:
    """The rank of an error: 0 for a broker's words, 2 for silence."""
    if isinstance(problem, BrokerError):
        return 0
    return 2 if isinstance(problem, Unanswered) else 1


def is_lasting(problem: BaseException) -> bool:
    """True for an error that another attempt will not change: a refused login, say, and what is no
    fault of network or broker. A host that does not answer may answer later."""
    if isinstance(problem, ConnectionRefused):
        return problem.reply_code in _REFUSALS
    return not isinstance(problem, (TransportError, DeadlineExceeded))
