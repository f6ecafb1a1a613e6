"""The fields of log records about a message: its queue, id, attempt and trace."""

from __future__ import annotations

from typing import TypedDict

from mqkit.consumer.observing.trace_id import trace_id_of
from mqkit.message import Delivery, Message
from mqkit.retry.headers import failures_of


class LogFields(TypedDict):
    """The ``extra`` of a record; the names are those of the record's attributes."""

    queue: str
    message_id: str | None
    attempt: int
    """The number of the attempt that the record is about: 1 for the first."""
    trace_id: str | None


def log_fields(delivery: Delivery, queue: str) -> LogFields:
    """The fields of ``delivery``, which came from ``queue``."""
    return {
        "queue": queue,
        "message_id": delivery.message_id,
        "attempt": failures_of(delivery.headers, queue) + 1,
        "trace_id": trace_id_of(delivery.headers),
    }


def log_fields_of_copy(copy: Message, queue: str) -> LogFields:
    """The fields of the message of which ``copy`` was to go to a retry tier or a parking lot: the
    copy counts its failure already."""
    headers = copy.properties.headers
    return {
        "queue": queue,
        "message_id": copy.properties.message_id,
        "attempt": max(1, failures_of(headers, queue)),
        "trace_id": trace_id_of(headers),
    }
