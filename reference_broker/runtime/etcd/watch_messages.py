"""The messages of a watch, as news: events by the transaction that made them.

[T] The revision in the header of a message with events is the store's, and not that of the watch:
one that catches up is sent the events in portions, each under the newest revision. Only a message
without events says how far the watch is.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import Any

from reference_broker.cluster.coordinator import Changed, Event, News, Progressed, WatchEnded
from reference_broker.runtime.etcd.failures import error_failure, one_line
from reference_broker.runtime.etcd.fields import (
    BadAnswer,
    Message,
    header_revision,
    integer,
    key,
    octets,
    part,
    parts,
    range_fields,
    text,
)

HELD_EVENTS_MAX = 50_000
"""Events of one transaction that came in several fragments. Ours have a hundred; an operator who
deletes with a prefix may make more, and then reading anew is quicker than being told."""

HELD_OCTETS_MAX = 32 * 1024 * 1024
"""Octets of their values. etcd takes 1.5 MiB in one transaction, unless it is told otherwise."""


def watch_request(prefix: str, after: int) -> dict[str, Any]:
    """The request for everything that changes under ``prefix`` after revision ``after``, which
    itself is asked for, too, and then dropped: of the next one etcd 3.4 would leave out the
    deletions without a word, if it was compacted."""
    create = {
        **range_fields(prefix),
        "start_revision": str(max(after, 1)),
        "progress_notify": True,
        # Without it a message may have a thousand transactions, of any size.
        "fragment": True,
    }
    return {"create_request": create}


class WatchMessages:
    """One watch, message by message. ``told`` is the revision up to which everything was told.
    After :class:`WatchEnded` there is nothing more to be asked."""

    def __init__(self, after: int) -> None:
        self.told = after
        self.is_open = False
        """etcd has said that it watches."""
        self._held: list[Event] = []
        self._held_octets = 0

    def news(self, message: Message) -> list[News]:
        """The news in ``message``. Raises :exc:`~fields.BadAnswer`."""
        if error := part(message, "error"):
            return [WatchEnded(error_failure(error).reason)]
        result = part(message, "result")
        if result.get("canceled") is True:
            return [_cancelled(result)]
        if result.get("created") is True:
            self.is_open = True
            return []
        events = [_event(each) for each in parts(result, "events")]
        if not events and not self._held:
            return self._progressed(header_revision(result))
        return self._changed(events, more=result.get("fragment") is True)

    def _progressed(self, revision: int) -> list[News]:
        if revision <= self.told:
            return []
        self.told = revision
        return [Progressed(revision)]

    def _changed(self, events: list[Event], *, more: bool) -> list[News]:
        self._held += events
        changed = self._by_transaction()
        # The last transaction of a fragment may go on in the next one.
        self._held = list(changed.pop().events) if more and changed else []
        self._held_octets = sum(len(each.value or b"") for each in self._held)
        if len(self._held) > HELD_EVENTS_MAX or self._held_octets > HELD_OCTETS_MAX:
            return [*changed, WatchEnded("a transaction has too many changes", compacted=True)]
        if changed:
            self.told = changed[-1].revision
        return list(changed)

    def _by_transaction(self) -> list[Changed]:
        """The events that are held and were not told."""
        changed: list[Changed] = []
        for revision, together in groupby(self._held, attrgetter("revision")):
            if changed and revision <= changed[-1].revision:
                raise BadAnswer("its revisions fall")
            if revision > self.told:
                changed.append(Changed(revision, tuple(together)))
        return changed


def _cancelled(result: Message) -> WatchEnded:
    compacted = integer(result, "compact_revision")
    if compacted:
        return WatchEnded(f"what is before revision {compacted} was compacted", compacted=True)
    words = one_line(text(result, "cancel_reason"))
    return WatchEnded(words.rpartition(" desc = ")[2] or "it ended the watch")


def _event(message: Message) -> Event:
    kv = part(message, "kv")
    name, revision = key(kv, "key"), integer(kv, "mod_revision")
    if message.get("type") == "DELETE":
        return Event(name, None, revision)
    return Event(
        name, octets(kv, "value"), revision, integer(kv, "lease"), integer(kv, "create_revision")
    )
