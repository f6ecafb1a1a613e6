"""The hand-made retry queue that can't be a tier: one for all waiting times, and each message has
its own TTL. The words that say why, for all who come across one. Pure."""

from __future__ import annotations

from mqkit.declaration import Queue

TTL = "x-message-ttl"

WHY = (
    "a queue expires messages only at its head, so there a short wait behind a long one waits for"
    " the long one: it can't be a retry tier. Name tiers of their own, with {after} in the pattern,"
    " and let the old queue drain before it is deleted"
)


def hint(wanted: object, differing: dict[str, object]) -> str:
    """:data:`WHY`, where ``wanted`` is a retry tier and the queue that is there has no TTL of its
    own; else nothing. ``differing`` has the live value of each property that is not as wanted."""
    is_tier = (
        isinstance(wanted, Queue)
        and TTL in wanted.arguments
        and wanted.arguments.get("x-dead-letter-exchange") == ""
    )
    if not is_tier or TTL not in differing or differing[TTL] is not None:
        return ""
    return f"it has no {TTL}, so its messages bring their own: {WHY}"
