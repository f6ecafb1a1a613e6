"""The connection of a partition sink, with its confirm channel: opened for the first message, and
again after a loss."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from mqkit.errors import MqkitError, TransportError
from mqkit.transport.blocking import BlockingChannel, BlockingConnection
from mqkit_spark.options import SinkOptions

RETRY_PAUSE_S = 0.2
"""The pause before a second attempt, at connecting as at publishing; doubled each time. A full
queue needs time to drain."""

Borrow = Callable[[SinkOptions], AbstractContextManager[BlockingConnection]]
"""The source of a sink's connection: :func:`mqkit_spark.pool.borrowed`, or a test's own."""


def retry_pause_s(attempt: int) -> float:
    """The pause before the attempt after number ``attempt`` (from 1)."""
    return float(RETRY_PAUSE_S * 2 ** (attempt - 1))


class Link:
    """Call :meth:`close` at the end, :meth:`abort` first where something may be in flight."""

    def __init__(
        self, options: SinkOptions, borrow: Borrow, pause: Callable[[float], None]
    ) -> None:
        self._options = options
        self._borrow = borrow
        self._pause = pause
        self._stack = ExitStack()
        self._connection: BlockingConnection | None = None
        self._channel: BlockingChannel | None = None
        self._blocked_earlier_s = 0.0
        self._blocked_before_s = 0.0

    @property
    def blocked_s(self) -> float:
        """For how many seconds in all the broker has had the sink's connections blocked."""
        if self._connection is None:
            return self._blocked_earlier_s
        return self._blocked_earlier_s + self._connection.blocked_s - self._blocked_before_s

    def channel(self) -> BlockingChannel:
        """The open channel, or a new one on another connection.

        Raises what connecting raises, after ``publishRetries`` more attempts.
        """
        if self._channel is not None and self._channel.is_open:
            return self._channel
        self.close()
        attempt = 0
        while True:
            try:
                connection = self._stack.enter_context(self._borrow(self._options))
                self._blocked_before_s = connection.blocked_s
                self._connection = connection
                self._channel = connection.channel(confirms=True)
            except TransportError:
                self.close()
                attempt += 1
                if attempt > self._options.publish_retries:
                    raise
                self._pause(retry_pause_s(attempt))
            else:
                return self._channel

    def abort(self) -> None:
        """Close the connection, whatever is in flight on it."""
        if self._connection is not None:
            self._connection.close()

    def close(self) -> None:
        """Give the connection back, open or not; the pool looks which. Idempotent."""
        if self._connection is not None:
            self._blocked_earlier_s = self.blocked_s
            try:
                if self._channel is not None:
                    self._channel.close()
            except MqkitError:  # all has its outcome: what will not close need not fail the task
                self._connection.close()
        self._channel = None
        self._connection = None
        self._stack.close()
