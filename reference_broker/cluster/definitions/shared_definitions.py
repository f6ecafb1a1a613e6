"""The definition store of a node: what the core wants to define is proposed, and made by the view.

The law: nothing is defined that was not there, or not free, in etcd at the moment at which it was
carried out, on this node or any other. Whoever asked is told when the node's view has it; his -ok
waits for the barrier besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol
from urllib.parse import unquote

from reference_broker.cluster.coordinator import Compare, Delete, Put
from reference_broker.cluster.definitions.placement import NodeRun, Placement
from reference_broker.cluster.definitions.shared_value import VALUE_BYTES_MAX, SharedValue, encode
from reference_broker.cluster.metadata.agreeing import conclude
from reference_broker.cluster.metadata.barrier import Barrier
from reference_broker.cluster.metadata.keys import DEFINITIONS
from reference_broker.cluster.metadata.proposals import Proposals
from reference_broker.cluster.metadata.view import View
from reference_broker.core.journal.definition_keys import QUEUE
from reference_broker.core.journal.definition_store import Change
from reference_broker.core.journal.journal import Journal
from reference_broker.core.journal.watermark import Wait, Watermark
from reference_broker.core.work.until import Agreement, NotYet
from reference_broker.errors import ChannelException, ReplyCode

_QUEUES = f"{QUEUE}/"


class Node(Protocol):
    """The node of a cluster, as its definitions see it: its name and run are where a queue is that
    it declares."""

    name: str
    run: int
    view: View
    proposals: Proposals
    barrier: Barrier


class Made(Protocol):
    """Who knows what was made of the view."""

    def made_at(self, key: str) -> int:
        """The revision that made the object of a definition; 0 for one that is not there."""
        ...

    def forget(self, key: str) -> None:
        """The object of a definition has gone because another one has."""
        ...

    def retire(self, key: str) -> None:
        """The object of a definition is there, and ought to go."""
        ...


class SharedDefinitions:
    """The definitions of the broker of one node. Call :meth:`attach` before the first request."""

    __slots__ = ("_journal", "_made", "_node", "_placement")

    shared = True

    _node: Node
    _made: Made
    _placement: Placement
    _journal: Journal

    def attach(self, node: Node, made: Made, placement: Placement, journal: Journal) -> None:
        """Have the node to ask by, the follower of its view, the placement of what is declared
        here, and the broker's journal."""
        self._node = node
        self._made = made
        self._placement = placement
        self._journal = journal

    def agree(self, changes: Iterable[Change]) -> None:
        """See :class:`~reference_broker.core.journal.definition_store.DefinitionStore`. Raises
        :exc:`ChannelException` 406 for a definition above :data:`VALUE_BYTES_MAX`."""
        raise NotYet(self._ask(changes, (), self._home_for))

    def ask(self, changes: Iterable[Change], held: Iterable[Compare] = ()) -> Agreement:
        """Have the other nodes asked for ``changes``, while what is ``held`` besides stays as it
        is; returns the end of that. The messages of queues among them are here, so it is their
        home. Raises as :meth:`agree`."""
        return self._ask(changes, held, self._here)

    def _ask(
        self,
        changes: Iterable[Change],
        held: Iterable[Compare],
        home_for: Callable[[Change, bytes], NodeRun],
    ) -> Agreement:
        view, made = self._node.view, self._made
        compares = {compare.key: compare for compare in held}
        puts: list[Put | Delete] = []
        is_new = False
        for change in changes:
            for spoken_of in (change.key, *change.speaks_of):
                key = DEFINITIONS + spoken_of
                compares[key] = Compare(key, view.revision_of(key))
            key = DEFINITIONS + change.key
            if change.value is None:
                puts.append(Delete(key))
                continue
            is_new = is_new or not made.made_at(change.key)
            puts.append(self._put(change, change.value, home_for(change, change.value)))
        agreement = Agreement(is_new=is_new)
        self._node.proposals.propose(
            tuple(compares.values()), puts, partial(conclude, agreement, view)
        )
        return agreement

    def _put(self, change: Change, body: bytes, home: NodeRun) -> Put:
        if len(body) > VALUE_BYTES_MAX:
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED,
                f"a definition of {len(body)} octets is larger than the cluster takes"
                f" ({VALUE_BYTES_MAX})",
            )
        made = self._made
        value = SharedValue(
            body,
            made.made_at(change.key),
            tuple((key, made.made_at(key)) for key in change.speaks_of),
            home.node,
            home.run,
        )
        return Put(DEFINITIONS + change.key, encode(value))

    def _here(self, change: Change, body: bytes) -> NodeRun:
        return NodeRun(self._node.name, self._node.run if change.with_node else 0)

    def _home_for(self, change: Change, body: bytes) -> NodeRun:
        if not change.key.startswith(_QUEUES):
            return self._here(change, body)
        vhost = unquote(change.key.split("/", 2)[1])
        return self._placement.home_of(vhost, body, with_node=change.with_node)

    def forget(self, key: str) -> None:
        """See :class:`~reference_broker.core.journal.definition_store.DefinitionStore`."""
        self._made.forget(key)

    def retire(self, key: str) -> None:
        """See :class:`~reference_broker.core.journal.definition_store.DefinitionStore`."""
        self._made.retire(key)

    def wait(self) -> Wait:
        """Every node that serves has to have seen what this one's view has; and the inner queues
        that came of it, which are this node's own, have to be on its disk."""
        return Wait(self._journal.tail, self._marks(self._node.view.revision.value))

    def wait_for(self, key: str) -> Wait:
        """Every node that serves has to have seen the revision that made the object: for one that
        has been there for a while nobody is waited for."""
        return Wait(0, self._marks(self._made.made_at(key)))

    def _marks(self, revision: int) -> tuple[tuple[Watermark, int]]:
        barrier = self._node.barrier
        return ((barrier.passed, barrier.ticket(revision)),)
