"""Questions as messages, and the errors of those that get no answer. Pure."""

from __future__ import annotations

from dataclasses import replace

from mqkit.errors import CallRejected, Closed, ConnectionLost, DeadlineExceeded, MqkitError
from mqkit.message import Message
from mqkit.outcome import Rejected, RejectReason
from mqkit.publishing.message_ids import new_message_id
from mqkit.rpc.headers import DEADLINE, DIRECT_REPLY_TO


def question_of(message: Message, until_ms: int, octets_max: int) -> Message:
    """``message`` as a question that is answered until ``until_ms`` (milliseconds since 1970), with
    a correlation id that no other has.

    Raises :exc:`~mqkit.errors.CallRejected` for a body of more than ``octets_max``.
    """
    if len(message.body) > octets_max:
        detail = f"{len(message.body)} bytes; the limit is {octets_max}"
        raise CallRejected(Rejected(RejectReason.TOO_LARGE, detail))
    properties = replace(
        message.properties,
        headers={**message.properties.headers, DEADLINE: until_ms},
        correlation_id=new_message_id(),
        reply_to=DIRECT_REPLY_TO,
        persistent=False,
    )
    return replace(message, properties=properties)


def no_answer(message: Message, deadline_s: float, client: str) -> DeadlineExceeded:
    """The error after ``deadline_s`` seconds; ``client`` is its state in words."""
    return DeadlineExceeded(
        f"no answer from {message.exchange!r} {message.routing_key!r} within {deadline_s:g} s"
        f" (client: {client})"
    )


def lost_call(end: MqkitError) -> MqkitError:
    """The error of a question that was under way when its channel ended with ``end``."""
    if isinstance(end, Closed):
        return Closed(str(end))
    if isinstance(end, ConnectionLost):
        return ConnectionLost(str(end))
    return ConnectionLost(f"the channel of this call was closed: {end}")
