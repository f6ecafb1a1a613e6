"""The presence of a node: its lease in etcd, and its ``live/`` key.

The law: a lost lease is never a loss. etcd may revoke all leases at once while every node is well;
so the node gets another one, and puts its key again under that. A lease is no mutual exclusion
either: nothing is judged by it but who is there.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

from reference_broker.cluster.coordinator import Compare, Event, Put, Won
from reference_broker.cluster.membership.records import (
    LiveRecord,
    MemberRecord,
    NodeState,
    decoded,
    encoded,
)
from reference_broker.cluster.metadata.keys import LIVE, MEMBERS
from reference_broker.cluster.metadata.proposal import Answered
from reference_broker.cluster.metadata.proposals import Proposals
from reference_broker.cluster.metadata.view import View
from reference_broker.cluster.pause import Pause, Timer
from reference_broker.errors import Corrupt

LEASE_TTL_S = 5
"""Seconds after which a node that is silent is gone, for whoever judges by its lease."""


class PresenceOwner(Protocol):
    """The node, as its presence sees it."""

    def present(self, revision: int) -> None:
        """The node's ``live/`` key was put at ``revision``: serve when the view has it."""
        ...

    def replaced(self) -> None:
        """Another run of this node, or another disk under its name, has joined: end at once."""
        ...

    def forgotten(self) -> None:
        """The node is a member no longer: end at once. Idempotent."""
        ...


class Presence:
    """The presence of ``node``, which has joined as ``member``; ``link`` is where its link
    listens. It is the listener of the node's lease, and follows the ``members/`` key of the
    node."""

    def __init__(
        self,
        node: str,
        member: MemberRecord,
        link: str,
        view: View,
        proposals: Proposals,
        after: Timer,
        owner: PresenceOwner,
    ) -> None:
        self._key = LIVE + node
        self._member_key = MEMBERS + node
        self._member = member
        self._record = LiveRecord(member.run, NodeState.UP, link)
        self._view = view
        self._proposals = proposals
        self._pause = Pause(after)
        self._owner = owner
        self._lease = 0
        view.follow(self._member_key, self)

    # The lease

    def lease_granted(self, lease: int) -> None:
        """See :class:`~reference_broker.cluster.coordinator.LeaseListener`."""
        self._lease = lease
        self._put_live(lease)

    def lease_ended(self, lease: int) -> None:
        """See :class:`~reference_broker.cluster.coordinator.LeaseListener`."""
        if lease == self._lease:
            self._lease = 0
            self._pause.end()

    def drain(self, state: NodeState) -> None:
        """Tell every node that this one is draining, or up again. Idempotent."""
        if state is not self._record.state:
            self._record = LiveRecord(self._record.run, state, self._record.link)
            if self._lease:
                self._put_live(self._lease)

    def _put_live(self, lease: int) -> None:
        if not self._view.revision_of(self._member_key):
            self._owner.forgotten()
            return
        self._proposals.propose(
            (Compare(self._member_key, self._view.revision_of(self._member_key)),),
            (Put(self._key, encoded(self._record), lease),),
            partial(self._live_answered, lease, self._record),
        )

    def _live_answered(self, lease: int, record: LiveRecord, answered: Answered) -> None:
        if lease != self._lease or record is not self._record:
            return
        if not isinstance(answered, Won):
            self._pause.begin(partial(self._put_live, lease))
            return
        self._pause.reset()
        self._owner.present(answered.revision)

    # The node's row

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`: the ``members/`` key."""
        if event.key != self._member_key:
            return
        if event.value is None:
            self._owner.forgotten()
            return
        try:
            seen = decoded(MemberRecord, event.key, event.value)
        except Corrupt:
            return  # whoever wrote that is none of ours; the next run will say so
        if seen.start_id != self._member.start_id:
            self._owner.replaced()
