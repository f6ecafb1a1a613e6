"""The size of the next batch, and the partitions that share it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from mqkit_spark.options.stream_read import StreamReadOptions

SHARE_MAX = 100_000
"""The most messages of a partition. All of them are unacked at the broker until they are synced,
and all are taken again when the reader dies."""

MESSAGES_MAX = 100_000_000
"""The most messages of a batch, so that it has at most a thousand partitions by its size alone."""


@dataclass(slots=True)
class Planner:
    """Knows the time of the last batch, and the messages that an ``AvailableNow`` query has left.

    ``now_s`` is a monotonic clock's, in seconds; the first batch waits from the first call on.
    """

    min_messages: int
    max_delay_s: float
    min_partitions: int
    _since_s: float | None = None
    _left: int | None = None

    @classmethod
    def of(cls, options: StreamReadOptions) -> Planner:
        """By the options of a query."""
        least = options.min_offsets_per_trigger or 1
        return cls(least, options.max_trigger_delay_s, options.min_partitions)

    def end_at(self, depth: int) -> None:
        """The query ends when ``depth`` messages are planned (``AvailableNow``)."""
        self._left = depth

    def messages(self, depth: int, most: int | None, now_s: float) -> int:
        """The number of messages for a batch now; 0 for none. Call :meth:`planned` if it is made.

        An ``AvailableNow`` query does not wait for more, as it would wait for ever.
        """
        if self._since_s is None:
            self._since_s = now_s
        found = min(depth, MESSAGES_MAX)
        if self._left is not None:
            found = min(found, self._left)
        elif found < self.min_messages and now_s - self._since_s < self.max_delay_s:
            return 0
        return found if most is None else min(found, most)

    def planned(self, messages: int, now_s: float) -> None:
        """A batch of so many messages begins."""
        self._since_s = now_s
        if self._left is not None:
            self._left = max(0, self._left - messages)

    def partitions(self, messages: int) -> int:
        """At least ``minPartitions``, if there are so many messages, and no share too large."""
        by_size = -(-messages // SHARE_MAX)
        return max(by_size, min(self.min_partitions, messages))
