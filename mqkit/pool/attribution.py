"""Who was it? Which of the publishes in flight did the broker close the channel for?

``channel.close`` names a class and a method, but no delivery tag. The reply text of RabbitMQ (and
of the reference broker, which speaks as it does) names the exchange or the size, and that is
enough in all the common cases. Where it is not, a publish is blamed only when it was the only one
in flight: the publisher repeats doubtful ones one at a time, so that a guilty one ends up alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from mqkit.errors import ChannelError, MqkitError
from mqkit.message import Message
from mqkit.outcome import Outcome, Rejected, RejectReason, Unknown

_BASIC_PUBLISH = (60, 40)
_NOT_FOUND = 404
_EXCHANGE_NAMED = re.compile(r"exchange '(?P<name>[^']*)' in vhost")
_SIZE_NAMED = re.compile(r"message size (?P<size>\d+)\b")


def outcomes_at_close(pending: Sequence[Message], error: MqkitError | None) -> list[Outcome]:
    """Outcomes of the publishes that a closing channel left unanswered, in the same order.

    With several in flight to an exchange that is "not found", all of them are rejected. If it was
    deleted that very moment, an earlier one may have been routed: a message in a queue whose
    publisher was told no - a duplicate if it is sent again, never a loss.
    """
    guilty = _suspicion(error)
    if guilty is None:
        return [Unknown(_doubt(error), message.properties.message_id) for message in pending]
    reason, accuses = guilty
    alone = len(pending) == 1
    return [
        Rejected(reason, str(error), message.properties.message_id)
        if alone or accuses(message)
        else Unknown(_doubt(error), message.properties.message_id)
        for message in pending
    ]


def _suspicion(
    error: MqkitError | None,
) -> tuple[RejectReason, Callable[[Message], bool]] | None:
    if not isinstance(error, ChannelError):
        return None
    if (error.class_id, error.method_id) != _BASIC_PUBLISH:
        return None
    if size := _SIZE_NAMED.search(error.reply_text):
        octets = int(size["size"])
        return RejectReason.TOO_LARGE, lambda message: len(message.body) == octets
    exchange = _EXCHANGE_NAMED.search(error.reply_text)
    if exchange is None:
        return RejectReason.REFUSED, lambda message: False
    name = exchange["name"]
    missing = error.reply_code == _NOT_FOUND
    reason = RejectReason.NO_EXCHANGE if missing else RejectReason.REFUSED
    return reason, lambda message: message.exchange == name


def _doubt(error: MqkitError | None) -> str:
    if error is None:
        return "the channel was closed before the broker confirmed"
    return f"the channel closed before the broker confirmed: {error}"
