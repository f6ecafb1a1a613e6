"""The simulator of several nodes finds what is planted into the metadata code, each fault by a law
that it breaks, within a few seeds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest

from reference_broker.cluster import heartbeat_links
from reference_broker.cluster.coordinator import InDoubt, Lost, Refused
from reference_broker.cluster.isolation import Isolation, IsolationState, Surroundings
from reference_broker.cluster.link.heartbeats import Heartbeats
from reference_broker.cluster.membership.live_nodes import LiveNodes
from reference_broker.cluster.membership.presence import Presence
from reference_broker.cluster.mesh import Mesh
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.event_history import EventHistory, Portion
from reference_broker.cluster.metadata.feed import Feed
from reference_broker.cluster.metadata.proposals import Proposals, ProposalsEvent
from reference_broker.cluster.metadata.resync import Resync
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.node import ClusterNode, NodeStage
from reference_broker.core.work.task import Steps
from reference_broker.simulation.cluster import world
from reference_broker.simulation.etcd.profile import TILTED

pytestmark = [pytest.mark.live, pytest.mark.slow]

SEEDS = 60
Patch = pytest.MonkeyPatch


def _compares_nothing(patch: Patch) -> None:
    """Mutant 8 of the design: CAS without compare."""
    propose = Proposals.propose
    patch.setattr(Proposals, "propose", lambda self, _, *others: propose(self, (), *others))


def _own_key_is_not_compared(patch: Patch) -> None:
    ask = Proposals._ask

    def without(self: Proposals) -> None:
        original = self._coordinator.propose

        class Coordinator:
            def propose(_, transaction: Any, answer: Any) -> None:
                original(transaction._replace(compares=transaction.compares[1:]), answer)

        coordinator, self._coordinator = self._coordinator, Coordinator()  # type: ignore[assignment]
        ask(self)
        self._coordinator = coordinator

    patch.setattr(Proposals, "_ask", without)


def _nobody_stands_down(patch: Patch) -> None:
    def sort_out(self: Proposals) -> None:
        self._sort_out(self._view.revision.value)

    patch.setattr(Proposals, "_stand_down", sort_out)


def _doubt_is_resolved_by_reading(patch: Patch) -> None:
    """The view shows the old value, so the request was lost."""
    answered = Proposals._answered

    def read(self: Proposals, outcome: Any) -> None:
        if isinstance(outcome, InDoubt):
            outcome = Lost(self._view.revision.value)
        answered(self, outcome)

    patch.setattr(Proposals, "_answered", read)


def _doubt_is_taken_for_a_refusal(patch: Patch) -> None:
    answered = Proposals._answered

    def deny(self: Proposals, outcome: Any) -> None:
        answered(self, Refused(outcome.reason) if isinstance(outcome, InDoubt) else outcome)

    patch.setattr(Proposals, "_answered", deny)


def _a_beaten_proposal_is_repeated(patch: Patch) -> None:
    patch.setattr(Proposals, "_holds", lambda self, proposal: True)


def _a_later_run_is_not_noticed(patch: Patch) -> None:
    patch.setattr(Proposals, "end", lambda self, reason: None)
    patch.setattr(ClusterNode, "replaced", lambda self: None)


def _nobody_is_waited_for(patch: Patch) -> None:
    """Mutant 23 of the design: -ok before all views."""
    patch.setattr(Barrier, "join", lambda self, node: None)


def _the_own_view_is_not_waited_for(patch: Patch) -> None:
    patch.setattr(Barrier, "_applied_by_all", lambda self: min([*self._applied.values(), 1 << 62]))


def _heartbeats_are_no_sign_of_life(patch: Patch) -> None:
    patch.setattr(LiveNodes, "is_there", lambda self, node: node in self._records)


def _what_passed_once_has_passed(patch: Patch) -> None:
    """A node that is there again with an old view is not waited for."""
    highest: dict[Barrier, int] = {}
    applied_by_all = Barrier._applied_by_all

    def rising(self: Barrier) -> int:
        highest[self] = max(highest.get(self, 0), applied_by_all(self))
        return highest[self]

    patch.setattr(Barrier, "_applied_by_all", rising)
    lag = next(profile for profile in TILTED if profile.name == "views lag")
    patch.setattr(world, "etcd_profile_of", lambda seed: lag)


def _events_are_applied_the_other_way_round(patch: Patch) -> None:
    """Mutant 23 of the design: the view applied out of order."""
    take = View.take

    def backwards(self: View, events: Iterable[Any]) -> Steps:
        return take(self, reversed(list(events)))

    def swapped(self: Feed, portion: Any) -> None:
        queue(self, portion)
        if len(self._portions) > 2:
            self._portions[-1], self._portions[-2] = self._portions[-2], self._portions[-1]

    queue = Feed._queue
    patch.setattr(View, "take", backwards)
    patch.setattr(Feed, "_queue", swapped)


def _a_revision_is_there_with_its_first_portion(patch: Patch) -> None:
    take = View.take

    def early(self: View, events: Iterable[Any]) -> Steps:
        taken = list(events)
        yield from take(self, taken)
        if taken:
            self.reach(taken[0].revision)

    patch.setattr(View, "take", early)


def _a_resync_forgets_what_is_gone(patch: Patch) -> None:
    init = Resync.__init__

    def without(self: Resync, view: View) -> None:
        init(self, view)
        self._gone = {}

    patch.setattr(Resync, "__init__", without)


def _pages_are_of_several_revisions(patch: Patch) -> None:
    read_page = Feed._read_page

    def anew(self: Feed, resync: Resync) -> None:
        revision, resync.revision = resync.revision, 0
        read_page(self, resync)
        resync.revision = revision

    patch.setattr(Feed, "_read_page", anew)


def _a_node_serves_as_soon_as_it_has_read(patch: Patch) -> None:
    loaded = ClusterNode._loaded

    def at_once(self: ClusterNode) -> None:
        loaded(self)
        assert self._joined is not None
        self.stage = NodeStage.SERVING
        self._owner.serving(self._joined)

    patch.setattr(ClusterNode, "_loaded", at_once)


def _a_lost_lease_is_not_followed_by_another(patch: Patch) -> None:
    granted = Presence.lease_granted

    def once(self: Presence, lease: int) -> None:
        if not hasattr(self, "granted_once"):
            self.granted_once = True  # type: ignore[attr-defined]
            granted(self, lease)

    patch.setattr(Presence, "lease_granted", once)


def _what_etcd_never_takes_is_asked_for_ever(patch: Patch) -> None:
    answered = Proposals._answered

    def ever(self: Proposals, outcome: Any) -> None:
        if isinstance(outcome, Refused):
            outcome = outcome._replace(lasting=False)
        answered(self, outcome)

    patch.setattr(Proposals, "_answered", ever)


def _a_look_is_not_waited_for(patch: Patch) -> None:
    """A lost transaction is sorted out by the view as it happens to be."""

    def at_once(self: Proposals, revision: int) -> None:
        self._pass(ProposalsEvent.SEEN)
        self._sort_out(revision)

    patch.setattr(Proposals, "_look", at_once)


def _a_thread_vouches_for_a_loop_that_hangs(patch: Patch) -> None:
    patch.setattr(heartbeat_links, "STANDING_S", 1e9)


def _heartbeats_stop_with_the_loop(patch: Patch) -> None:
    patch.setattr(heartbeat_links, "STANDING_S", 0.6)


def _a_link_is_held_to_the_times_of_its_heartbeats(patch: Patch) -> None:
    patch.setattr(Heartbeats, "loosen", lambda self: None)


def _a_link_outlives_its_heartbeats(patch: Patch) -> None:
    patch.setattr(Mesh, "heartbeats_ended", lambda self, link_id, reason: None)


def _links_are_nothing_without_etcd(patch: Patch) -> None:
    patch.setattr(Surroundings, "has_majority", False)


def _who_was_cut_off_stays_so(patch: Patch) -> None:
    look = Isolation.look

    def once(self: Isolation, now: float, around: Surroundings) -> None:
        if self.state is not IsolationState.PAUSED:
            look(self, now, around)

    patch.setattr(Isolation, "look", once)


def _a_peer_forgets_a_transaction_of_several(patch: Patch) -> None:
    after = EventHistory.after

    def forgetting(self: EventHistory, revision: int, bytes_max: int) -> Portion | None:
        found = after(self, revision, bytes_max)
        if found is None or len(found.transactions) < 2:
            return found
        return found._replace(transactions=found.transactions[1:])

    patch.setattr(EventHistory, "after", forgetting)


def _a_peer_cuts_a_transaction(patch: Patch) -> None:
    add = EventHistory.add
    patch.setattr(EventHistory, "add", lambda self, to, events: add(self, to, events[:1]))


def _what_was_read_anew_was_told(patch: Patch) -> None:
    """The history goes on over a reading, of which nobody knows in which order it came to be."""

    def begin(self: EventHistory, revision: int) -> None:
        self.reached = revision

    patch.setattr(EventHistory, "begin", begin)


PLANTED: dict[Callable[[Patch], None], str] = {
    _compares_nothing: "was carried out at revision",
    _own_key_is_not_compared: "was written after",
    _nobody_stands_down: "carried out, and denied|carried out twice",
    _doubt_is_resolved_by_reading: "carried out, and denied|carried out twice",
    _doubt_is_taken_for_a_refusal: "carried out, and denied|carried out twice",
    _nobody_is_waited_for: "says -ok for revision",
    _the_own_view_is_not_waited_for: "before its own view",
    _heartbeats_are_no_sign_of_life: "says -ok for revision",
    _what_passed_once_has_passed: "says -ok for revision",
    _events_are_applied_the_other_way_round: "the view of|told twice",
    _a_revision_is_there_with_its_first_portion: "the view of",
    _a_resync_forgets_what_is_gone: "the view of",
    _pages_are_of_several_revisions: "the view of",
    _a_node_serves_as_soon_as_it_has_read: "has no key of its own",
    _a_lost_lease_is_not_followed_by_another: "its key is not in etcd",
    _what_etcd_never_takes_is_asked_for_ever: "hangs|waits for|its key is not|does not serve",
    _a_later_run_is_not_noticed: "its earlier process is there|says -ok",
    _a_thread_vouches_for_a_loop_that_hangs: "whose loop has stood for",
    _heartbeats_stop_with_the_loop: "stood for a moment",
    _a_link_is_held_to_the_times_of_its_heartbeats: "stood for a moment",
    _a_link_outlives_its_heartbeats: "hears of",
    _links_are_nothing_without_etcd: "lets its clients go, and has links",
    _who_was_cut_off_stays_so: "accepts no clients",
    _a_peer_forgets_a_transaction_of_several: "the view of|told twice",
    _a_peer_cuts_a_transaction: "the view of|told twice",
    _what_was_read_anew_was_told: "the view of|told twice",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__.strip("_"))
def test_it_is_found(
    plant: Callable[[Patch], None],
    monkeypatch: Patch,
    found_in: Callable[[Collection[int], str], None],
) -> None:
    plant(monkeypatch)
    monkeypatch.setattr(world, "REQUEST_CHANCE", 0)  # bare proposals show these best
    found_in(range(SEEDS), PLANTED[plant])
