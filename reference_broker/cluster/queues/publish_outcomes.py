"""Counts of what became of the publishes of this node for another one."""

from __future__ import annotations


class PublishOutcomes:
    """Numbers that only rise. A publish is in one of them once its publisher knows, or may."""

    __slots__ = ("confirmed", "in_doubt", "nacked", "unreachable")

    def __init__(self) -> None:
        self.confirmed = 0
        """Taken by every queue that they were for."""
        self.nacked = 0
        """Refused by the home, for one of their queues at least."""
        self.in_doubt = 0
        """Sent, or waiting to be, when the link was lost: their publishers get a nack."""
        self.unreachable = 0
        """Published while there was no link: their publishers get a nack."""

    def answered(self, count: int, refused: int) -> None:
        """The home has answered ``count`` publishes, and has ``refused`` so many of these."""
        self.confirmed += count - refused
        self.nacked += refused
