"""The inbox, as an app and its consumers know it. It is :class:`mqkit.inbox.Inbox` that does it."""

from __future__ import annotations

from typing import Protocol

from mqkit.consumer.acks.mode import AckMode
from mqkit.consumer.batches.batch_handler import AnyBatchHandler, BatchHandler
from mqkit.consumer.handler import AnyHandler, MessageHandler
from mqkit.errors import ConfigurationError
from mqkit.topology.model import Topology


class AnyInbox(Protocol):
    """Puts a transaction around handlers, which has the key of their message."""

    def around(
        self, handler: MessageHandler, queue: str, topology: Topology | None
    ) -> AnyHandler: ...

    def around_batch(
        self, handler: BatchHandler, queue: str, topology: Topology | None
    ) -> AnyBatchHandler: ...


def check_inbox(inbox: AnyInbox | None, mode: AckMode) -> AckMode:
    """``mode``. Raises :exc:`~mqkit.errors.ConfigurationError` for an inbox with another ack than
    after the handler."""
    if inbox is not None and mode is not AckMode.AFTER:
        raise ConfigurationError(
            f'inbox= with ack="{mode}": a message is acked when its transaction is committed, so an'
            ' inbox goes with ack="after" only'
        )
    return mode
