"""The operations that were committed, and the laws that are held against them."""

from __future__ import annotations

from typing import NamedTuple

from reference_broker.simulation.replication_model.key import Copy


class Op(NamedTuple):
    """An operation of the queue: its leader's epoch, and a number that no other has; 0 is the first
    of each epoch."""

    epoch: int
    number: int


class Violation(AssertionError):
    """A law is broken."""


class Ledger:
    """Sees each commit and each election of a run. Raises :class:`Violation`."""

    def __init__(self) -> None:
        self.committed: list[Op] = []
        self._leaders: dict[int, Copy] = {}

    def commit(self, log: list[Op], count: int) -> None:
        """A leader with ``log`` has committed its first ``count``."""
        self.committed += log[len(self.committed) : count]
        if log[:count] != self.committed[:count]:
            raise Violation("two histories were committed")

    def elected(self, epoch: int, leader: Copy, log: list[Op]) -> None:
        """``leader`` begins to lead."""
        if self._leaders.setdefault(epoch, leader) != leader:
            raise Violation("an epoch has two leaders")
        if log and log[-1].epoch >= epoch:
            raise Violation("a leader's log has operations of its own epoch, or of a later one")
        self._need(log, "a leader")

    def stays(self, log: list[Op]) -> None:
        """A member of the in-sync set has ``log``."""
        self._need(log, "a member of the in-sync set")

    def _need(self, log: list[Op], who: str) -> None:
        if log[: len(self.committed)] != self.committed:
            raise Violation(f"{who} lacks a committed operation")
