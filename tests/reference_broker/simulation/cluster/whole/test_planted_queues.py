"""The simulator of several nodes finds what is planted into the work with queues of other nodes,
each fault by a law that it breaks, within a few seeds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest

from reference_broker.cluster.link.link import Link
from reference_broker.cluster.mesh import Mesh
from reference_broker.cluster.queues import origin_session, settling
from reference_broker.cluster.queues.attached_consumer import AttachedConsumer
from reference_broker.cluster.queues.linked_home import LinkedHome
from reference_broker.cluster.queues.origin_session import OriginSession
from reference_broker.cluster.queues.publish_intake import PublishIntake
from reference_broker.cluster.queues.sent_publishes import SentPublishes
from reference_broker.cluster.relay import Relay
from reference_broker.core.channel import confirms
from reference_broker.core.queue.returns import put_back_unseen
from reference_broker.core.remote import attachment
from reference_broker.core.remote.attachment import Attachment, AttachmentState
from reference_broker.core.remote.ports import Settlement
from reference_broker.core.remote.remote_queue import RemoteQueue
from reference_broker.core.work.task import Steps
from reference_broker.simulation.cluster import link_sizes
from reference_broker.simulation.cluster.messages import consumer, workload
from reference_broker.simulation.cluster.world import ClusterWorld

pytestmark = [pytest.mark.live, pytest.mark.slow]

Patch = pytest.MonkeyPatch


def _confirms_come_before_the_sync(patch: Patch) -> None:
    flush = PublishIntake.flush

    def at_once(self: PublishIntake) -> None:
        self._position = 0
        flush(self)

    patch.setattr(PublishIntake, "flush", at_once)


def _a_confirm_counts_what_was_refused(patch: Patch) -> None:
    note = PublishIntake._note
    patch.setattr(
        PublishIntake, "_note", lambda self, publish, *, taken: note(self, publish, taken=True)
    )


def _what_was_lost_with_a_link_is_confirmed(patch: Patch) -> None:
    judge = SentPublishes._judge
    patch.setattr(
        SentPublishes,
        "_judge",
        lambda self, through, *, is_lost: judge(self, through, is_lost=False),
    )


def _what_was_lost_with_a_link_is_never_answered(patch: Patch) -> None:
    patch.setattr(SentPublishes, "_lose", lambda self: None)


def _some_publishes_are_dropped(patch: Patch) -> None:
    put = PublishIntake._put
    patch.setattr(
        PublishIntake,
        "_put",
        lambda self, publish: put(self, publish) if publish.number % 9 else None,
    )


def _some_publishes_are_taken_twice(patch: Patch) -> None:
    put = PublishIntake._put

    def twice(self: PublishIntake, publish: Any) -> Any:
        if not publish.number % 9:
            put(self, publish)
        return put(self, publish)

    patch.setattr(PublishIntake, "_put", twice)


def _leases_outlive_their_link(patch: Patch) -> None:
    patch.setattr(origin_session, "put_all_back", lambda lots: iter(()))


def _consumers_outlive_their_link(patch: Patch) -> None:
    end = OriginSession._end

    def without(self: OriginSession, leaving: Any) -> Steps:
        self._consumers = {}
        yield from end(self, leaving)

    patch.setattr(OriginSession, "_end", without)


def _what_a_lost_client_held_was_never_seen(patch: Patch) -> None:
    """Messages that come back with a link are not marked as redelivered."""

    def unseen(lots: Iterable[list[Any]]) -> Steps:
        for lot in lots:
            put_back_unseen(lot[0].queue, lot)
        yield from ()

    patch.setattr(origin_session, "put_all_back", unseen)


def _what_nobody_saw_is_gone(patch: Patch) -> None:
    patch.setattr(settling, "_put_back_unseen", settling._ack)
    patch.setattr(workload, "RESTLESSNESS", (0.4,))


def _what_comes_after_a_leave_is_dropped(patch: Patch) -> None:
    patch.setattr(Attachment, "_come_late", lambda self, deliveries: None)
    patch.setattr(workload, "RESTLESSNESS", (0.4,))


def _what_is_given_back_is_rejected(patch: Patch) -> None:
    back = (Settlement.REQUEUE, Settlement.REQUEUE_FAILED)

    def rejected(leases: list[Any], how: Settlement) -> Steps:
        return settling.settle(leases, Settlement.REJECT if how in back else how)

    patch.setattr(origin_session, "settle", rejected)


def _what_is_acked_is_given_back(patch: Patch) -> None:
    def back(leases: list[Any], how: Settlement) -> Steps:
        return settling.settle(leases, Settlement.REQUEUE if how is Settlement.ACK else how)

    patch.setattr(origin_session, "settle", back)


def _acks_stay_here(patch: Patch) -> None:
    end_leases = LinkedHome.end_leases

    def but_acks(self: LinkedHome, queue_id: int, how: Settlement, numbers: Any) -> None:
        if how is not Settlement.ACK:
            end_leases(self, queue_id, how, numbers)

    patch.setattr(LinkedHome, "end_leases", but_acks)


def _the_room_of_a_consumer_is_not_asked_for(patch: Patch) -> None:
    """A home sends as much as it likes, and all of it is handed out."""
    grant = AttachedConsumer.grant

    def grant_all(self: AttachedConsumer, messages: int, octets: int) -> None:
        grant(self, messages and sys.maxsize, octets and sys.maxsize)

    patch.setattr(AttachedConsumer, "grant", grant_all)

    def go_on(self: Attachment) -> bool:
        while self._waiting:
            self._hand_out(*self._waiting.popleft())
        if self.is_begun and self.state is AttachmentState.ATTACHED:
            self._grant()
        return True

    patch.setattr(Attachment, "go_on", go_on)


def _the_last_that_came_goes_first(patch: Patch) -> None:
    deliver = Attachment.deliver

    def in_front(self: Attachment, *what: Any) -> None:
        deliver(self, *what)
        self._waiting.rotate(1)

    patch.setattr(Attachment, "deliver", in_front)


def _a_home_is_asked_for_one_lot_only(patch: Patch) -> None:
    grant = LinkedHome.grant

    def once(self: LinkedHome, attachment: int, messages: int, octets: int) -> None:
        if messages <= max(consumer.PREFETCHES):
            grant(self, attachment, messages, octets)

    patch.setattr(LinkedHome, "grant", once)


def _nobody_leaves_a_home(patch: Patch) -> None:
    patch.setattr(LinkedHome, "detach", lambda self, attachment: None)


def _a_question_ends_with_its_link(patch: Patch) -> None:
    """And nobody is told."""
    tell_all = LinkedHome._tell_all
    patch.setattr(LinkedHome, "_tell_all", lambda self, takers, asked: tell_all(self, takers, ()))


def _credit_is_not_given_back(patch: Patch) -> None:
    patch.setattr(Link, "consumed", lambda self, lane, kind, payload: None)


def _an_era_is_like_another(patch: Patch) -> None:
    """A lease of a home that has died is taken for that of the process there now."""
    patch.setattr(RemoteQueue, "renew", lambda self: None)
    patch.setattr(consumer, "SETTLE_US", (2_000_000, 20_000_000))
    patch.setattr(consumer, "PREFETCHES", (20,))
    patch.setattr(workload, "RESTLESSNESS", (0.0,))


def _octets_are_granted_with_messages_alone(patch: Patch) -> None:
    """A window of octets that is spent before half of the messages have come stays so."""
    grant = Attachment._grant

    def of_messages(self: Attachment) -> None:
        self._granted_bytes = self._delivered_bytes + attachment.WINDOW_BYTES
        grant(self)

    patch.setattr(attachment, "WINDOW_BYTES", 4_096)
    patch.setattr(consumer, "PREFETCHES", (20,))
    patch.setattr(Attachment, "_grant", of_messages)


def _a_line_acks_past_an_open_one(patch: Patch) -> None:
    """Mutant 19 of the design: a channel's line is kept before an earlier one of it."""

    def kept(self: confirms._OrderedLine) -> None:
        lines = self._confirms.lines
        if lines and self in lines:
            lines.remove(self)
        self._confirms.lines = lines or None
        self._confirms.ack_through(self._sequence)

    patch.setattr(confirms._OrderedLine, "kept", kept)


def _an_older_link_goes_on_beside_a_newer_one(patch: Patch) -> None:
    """Mutant 27 of the design: frames of an old link are accepted. It has those of two processes
    that both take themselves for the node."""
    link_open, receive = Mesh.link_open, Mesh._receive

    def beside(self: Mesh, link: Link) -> None:
        self._open.pop(link.peer.node, None)
        link_open(self, link)

    def anyway(self: Mesh, link: Link, *what: Any) -> None:
        node = link.peer.node
        newest = self._open.get(node, link)
        self._open[node] = link
        try:
            receive(self, link, *what)
        finally:
            self._open[node] = newest

    patch.setattr(Mesh, "link_open", beside)
    patch.setattr(Mesh, "_receive", anyway)
    for fault in ("_kill", "_pause"):
        patch.setattr(ClusterWorld, fault, ClusterWorld._copy)
    patch.setattr(link_sizes, "SMALL_CHANCE", 0)  # links as they are show it soonest
    # Told by the others that it was replaced, the earlier of the two would have ended by then.
    patch.setattr(Relay, "heard", lambda self, node, applied: None)


PLANTED: dict[Callable[[Patch], None], tuple[int, str]] = {
    _an_older_link_goes_on_beside_a_newer_one: (
        60,
        "nobody has settled it|for nobody|unacked|for an answer of|got none",
    ),
    _octets_are_granted_with_messages_alone: (20, "ready|nobody has settled it"),
    _a_line_acks_past_an_open_one: (5, "has not synced it"),
    _confirms_come_before_the_sync: (5, "has not synced it"),
    _a_confirm_counts_what_was_refused: (20, "nobody has settled it"),
    _what_was_lost_with_a_link_is_confirmed: (60, "nobody has settled it"),
    _what_was_lost_with_a_link_is_never_answered: (60, "is not answered"),
    _some_publishes_are_dropped: (5, "nobody has settled it"),
    _some_publishes_are_taken_twice: (5, "twice, and was not marked"),
    _leases_outlive_their_link: (20, "for nobody"),
    _consumers_outlive_their_link: (20, "by a link that is down"),
    _what_a_lost_client_held_was_never_seen: (20, "twice, and was not marked"),
    _what_nobody_saw_is_gone: (20, "nobody has settled it"),
    _what_comes_after_a_leave_is_dropped: (20, "unacked|nobody has settled it"),
    _what_is_given_back_is_rejected: (20, "nobody has settled it"),
    _what_is_acked_is_given_back: (5, "again after it was acked"),
    _acks_stay_here: (5, "unacked|again after it was acked"),
    _the_room_of_a_consumer_is_not_asked_for: (5, "that it asked for"),
    _the_last_that_came_goes_first: (20, "after message"),
    _a_home_is_asked_for_one_lot_only: (20, "ready|nobody has settled it"),
    _nobody_leaves_a_home: (20, "for an answer of"),
    _a_question_ends_with_its_link: (60, "for an answer of"),
    _credit_is_not_given_back: (5, "octets"),
    _an_era_is_like_another: (60, "nobody has settled it"),
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__.strip("_"))
def test_it_is_found(
    plant: Callable[[Patch], None],
    monkeypatch: Patch,
    found_in: Callable[[Collection[int], str], None],
) -> None:
    plant(monkeypatch)
    seeds, laws = PLANTED[plant]
    found_in(range(seeds), laws)
