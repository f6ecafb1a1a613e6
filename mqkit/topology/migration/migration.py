"""A migration as a value: the queue as it is and as it shall be, and what hangs on it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mqkit.declaration import Binding, Queue
from mqkit.topology.migration.names import temporary_name

REJECTING = ("reject-publish", "reject-publish-dlx")
"""Values of ``overflow`` by which a full queue refuses a message. In a transaction the ack of the
message is done all the same, so such a queue is filled with confirms."""


class Direction(StrEnum):
    """The queue that there shall be in the end."""

    FORWARD = "forward"
    """The one that the file wants."""
    BACK = "back"
    """The one that was there: the migration is aborted."""


@dataclass(frozen=True, slots=True)
class Held:
    """A queue that dead-letters to the migrated one by name, and the one that keeps its messages
    meanwhile."""

    queue: Queue
    keeper: Queue


@dataclass(frozen=True, slots=True)
class Migration:
    """``old`` and ``wanted`` have one name. ``old_rejects`` and ``wanted_rejects`` say that they
    refuse messages when they are full."""

    vhost: str
    old: Queue
    wanted: Queue
    temporary: Queue
    bindings: tuple[Binding, ...] = ()
    held: tuple[Held, ...] = ()
    old_rejects: bool = False
    wanted_rejects: bool = False

    @property
    def queue(self) -> str:
        """The name of the queue."""
        return self.old.name

    def target(self, direction: Direction) -> Queue:
        """The queue that there shall be in the end."""
        return self.wanted if direction is Direction.FORWARD else self.old

    def rejects(self, direction: Direction) -> bool:
        """True if that one refuses messages when it is full."""
        return self.wanted_rejects if direction is Direction.FORWARD else self.old_rejects

    def with_binding(self, binding: Binding) -> Migration:
        """This one with a binding that somebody has made meanwhile. Idempotent."""
        if binding in self.bindings:
            return self
        return replace(self, bindings=(*self.bindings, binding))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the journal."""
        return {
            "vhost": self.vhost,
            "old": queue_to_dict(self.old),
            "wanted": queue_to_dict(self.wanted),
            "temporary": queue_to_dict(self.temporary),
            "bindings": [binding_to_dict(binding) for binding in self.bindings],
            "held": [
                {"queue": queue_to_dict(held.queue), "keeper": queue_to_dict(held.keeper)}
                for held in self.held
            ],
            "old_rejects": self.old_rejects,
            "wanted_rejects": self.wanted_rejects,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Migration:
        """The migration again. Raises ``KeyError``, ``TypeError`` or ``ValueError``."""
        found = cls(
            str(plain["vhost"]),
            queue_from_dict(plain["old"]),
            queue_from_dict(plain["wanted"]),
            queue_from_dict(plain["temporary"]),
            tuple(binding_from_dict(each) for each in plain["bindings"]),
            tuple(
                Held(queue_from_dict(each["queue"]), queue_from_dict(each["keeper"]))
                for each in plain["held"]
            ),
            bool(plain["old_rejects"]),
            bool(plain["wanted_rejects"]),
        )
        names = {found.old.name, found.wanted.name}
        if len(names) > 1 or found.temporary.name != temporary_name(found.old.name):
            raise ValueError("queues whose names do not fit together")
        return found


def queue_to_dict(queue: Queue) -> dict[str, Any]:
    """A queue as plain values."""
    return {
        "name": queue.name,
        "durable": queue.durable,
        "auto_delete": queue.auto_delete,
        "arguments": dict(queue.arguments),
    }


def queue_from_dict(plain: Mapping[str, Any]) -> Queue:
    """The queue again."""
    return Queue(
        str(plain["name"]),
        durable=bool(plain["durable"]),
        auto_delete=bool(plain["auto_delete"]),
        arguments=dict(plain["arguments"]),
    )


def binding_to_dict(binding: Binding) -> dict[str, Any]:
    """A binding to a queue as plain values."""
    return {
        "source": binding.source,
        "destination": binding.destination,
        "key": binding.key,
        "arguments": dict(binding.arguments),
    }


def binding_from_dict(plain: Mapping[str, Any]) -> Binding:
    """The binding again."""
    return Binding(
        str(plain["source"]),
        str(plain["destination"]),
        str(plain["key"]),
        arguments=dict(plain["arguments"]),
    )
