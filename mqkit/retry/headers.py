"""The headers that mqkit writes on a failed message, and the message to republish with them. Pure.

mqkit counts attempts in headers of its own: a broker may ignore the ``x-death`` that a client
sends (RabbitMQ does since 4.0). The count belongs to one queue (``x-mqkit-queue``): headers that
were copied to a message for another queue count nothing there.

Body and properties go on unchanged, but for four things that would hurt on the way:

* ``expiration``: the tier's own TTL must be the only one, and a parked message must not expire;
* ``user-id``: the broker refuses a publish whose user-id is not the connection's (406);
* ``CC`` and ``BCC``: a broker would route copies to those keys a second time;
* ``x-death`` and its kin: RabbitMQ drops a message at its second pass through a queue named there
  without a rejection (its cycle detection), and a retry is a second pass.

What was taken off is kept under ``x-mqkit-original-*`` where a person may want to see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mqkit.message import Delivery, Message
from mqkit.retry.names import parking_lot_name, tier_name

PREFIX = "x-mqkit-"
QUEUE = PREFIX + "queue"
"""The queue whose handler failed."""
ATTEMPT = PREFIX + "attempt"
"""The number of attempts that have failed on that queue."""
FIRST_FAILURE = PREFIX + "first-failure"
LAST_FAILURE = PREFIX + "last-failure"
ERROR_TYPE = PREFIX + "error-type"
ERROR_MESSAGE = PREFIX + "error-message"
ORIGINAL_EXCHANGE = PREFIX + "original-exchange"
ORIGINAL_ROUTING_KEY = PREFIX + "original-routing-key"
ORIGINAL_CC = PREFIX + "original-cc"
ORIGINAL_USER_ID = PREFIX + "original-user-id"
PARKED_REASON = PREFIX + "parked-reason"
PARKED_AT = PREFIX + "parked-at"
REPLAYS = PREFIX + "replays"
"""The number of times that a person sent the message back from the parking lot."""

BROKER_DEATH_HEADERS = (
    "x-death",
    "x-first-death-exchange",
    "x-first-death-queue",
    "x-first-death-reason",
    "x-last-death-exchange",
    "x-last-death-queue",
    "x-last-death-reason",
)
ROUTING_HEADERS = ("CC", "BCC")

MAX_ERROR_TYPE_BYTES = 256
MAX_TEXT_BYTES = 1024
"""A content header has to fit into one frame (131072 bytes, 4096 at the least): a stack trace or a
page of HTML in an error message must not make a message unpublishable."""

MAX_ATTEMPTS = 1_000_000
"""More than any policy allows; a larger or stranger count was not written by mqkit."""

MAX_REPLAYS = 10
"""A message that has come back from so many replays needs a person, not another replay."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A handler's failure: the error, and the time (``at`` is aware)."""

    error_type: str
    error_message: str
    at: datetime

    @classmethod
    def of(cls, error: BaseException, at: datetime) -> Failure:
        """The failure that ``error`` is. Never raises, whatever the exception's ``__str__``
        does."""
        return cls(error_type(error), error_text(error), at)


def error_type(error: BaseException) -> str:
    """The name of the error's class, bounded."""
    return _bounded(type(error).__qualname__, MAX_ERROR_TYPE_BYTES)


def error_text(error: BaseException) -> str:
    """The error's text, bounded. Never raises."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not keep a message from its retry
        text = "(this error can't be shown)"
    return _bounded(text)


def failures_of(headers: Mapping[str, Any], queue: str) -> int:
    """The number of attempts that have failed on ``queue`` already; 0 for a message new there."""
    return count_of(headers, ATTEMPT) if headers.get(QUEUE) == queue else 0


def first_failure_of(headers: Mapping[str, Any], queue: str) -> datetime | None:
    """The time of the first failure on ``queue``, aware.

    ``None`` for a message new there, and for a time that mqkit would not have written.
    """
    text = headers.get(FIRST_FAILURE)
    if not failures_of(headers, queue) or not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if at.utcoffset() is None else at


def to_tier(
    delivery: Delivery, queue: str, after_ms: int, failure: Failure, *, tier: str | None = None
) -> Message:
    """``delivery``, which failed on ``queue``, as it goes to the tier of ``after_ms``.

    ``tier`` is its name where the policy gives one. Publish the message, wait for the confirm, and
    only then ack the delivery.
    """
    headers = _failed(delivery, queue, failure)
    for name in BROKER_DEATH_HEADERS:
        headers.pop(name, None)
    return _message(delivery, tier or tier_name(queue, after_ms), headers)


def to_parking_lot(
    delivery: Delivery, queue: str, reason: str, failure: Failure, *, lot: str | None = None
) -> Message:
    """``delivery``, which failed on ``queue``, as it goes to the parking lot of that queue.

    ``lot`` names another one. The broker's own account of earlier deaths stays on, to be read.
    """
    headers = _failed(delivery, queue, failure)
    headers[PARKED_REASON] = _bounded(reason)
    headers[PARKED_AT] = failure.at.isoformat()
    return _message(delivery, lot or parking_lot_name(queue), headers)


def to_replay(delivery: Delivery, queue: str) -> Message:
    """``delivery``, which lies in a parking lot, as it goes back to ``queue``.

    It starts with all its attempts again; the count of replays and the original exchange and key
    stay on it.
    """
    headers = _kept(delivery.headers)
    for name in (ATTEMPT, FIRST_FAILURE, LAST_FAILURE, ERROR_TYPE, ERROR_MESSAGE):
        headers.pop(name, None)
    for name in (PARKED_REASON, PARKED_AT, *BROKER_DEATH_HEADERS):
        headers.pop(name, None)
    headers[REPLAYS] = count_of(delivery.headers, REPLAYS) + 1
    return _message(delivery, queue, headers)


def count_of(headers: Mapping[str, Any], name: str) -> int:
    """A count among the headers; 0 for anything that mqkit would not have written."""
    value = headers.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_ATTEMPTS:
        return 0
    return value


def _failed(delivery: Delivery, queue: str, failure: Failure) -> dict[str, Any]:
    """The headers with the account of this failure."""
    seen = delivery.headers
    headers = _kept(seen)
    if seen.get(QUEUE) != queue or ORIGINAL_EXCHANGE not in seen:
        headers[ORIGINAL_EXCHANGE] = delivery.exchange
        headers[ORIGINAL_ROUTING_KEY] = delivery.routing_key
    failures = failures_of(seen, queue)
    if not failures or FIRST_FAILURE not in seen:
        headers[FIRST_FAILURE] = failure.at.isoformat()
    headers[LAST_FAILURE] = failure.at.isoformat()
    headers[QUEUE] = queue
    headers[ATTEMPT] = min(failures + 1, MAX_ATTEMPTS)
    headers[ERROR_TYPE] = _bounded(failure.error_type, MAX_ERROR_TYPE_BYTES)
    headers[ERROR_MESSAGE] = _bounded(failure.error_message)
    if "CC" in seen:
        headers[ORIGINAL_CC] = seen["CC"]
    if delivery.properties.user_id is not None:
        headers[ORIGINAL_USER_ID] = delivery.properties.user_id
    return headers


def _kept(headers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in headers.items() if name not in ROUTING_HEADERS}


def _message(delivery: Delivery, queue: str, headers: dict[str, Any]) -> Message:
    """A message to one queue, over the default exchange; returned if that queue is not there."""
    properties = replace(delivery.properties, headers=headers, expiration_ms=None, user_id=None)
    return Message("", queue, delivery.body, properties, mandatory=True)


def _bounded(text: str, limit_bytes: int = MAX_TEXT_BYTES) -> str:
    """``text`` as UTF-8 of at most so many bytes, cut between characters, with a mark if cut."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit_bytes:
        return encoded.decode("utf-8")
    mark = "..."
    return encoded[: limit_bytes - len(mark)].decode("utf-8", "ignore") + mark
