"""The broker's process as a node of a cluster: the order of its start.

    the folder is recovered -> the node joins -> its view is whole -> what the folder brings is
    agreed on -> queues get the messages of the log -> others see the node -> it serves

The law: a message of the log is dropped only when the view is whole and does not have its queue.
So while etcd is not there nothing is served, and nothing is dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Protocol
from urllib.parse import unquote

from reference_broker.cluster.definitions.bringing import Bringing
from reference_broker.cluster.definitions.brought import (
    BroughtDefinitions,
    changes_of,
    shared_part,
)
from reference_broker.cluster.definitions.node_definitions import NodeDefinitions
from reference_broker.cluster.definitions.shared_definitions import SharedDefinitions
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.membership.folder_copy import FolderCopy, proposals_in
from reference_broker.cluster.membership.folder_mark import (
    KEY,
    FolderMark,
    encode_mark,
    mark_in,
)
from reference_broker.cluster.membership.joining import Joined
from reference_broker.cluster.membership.records import NodeState
from reference_broker.cluster.membership.seen_metadata import seen_in
from reference_broker.cluster.mesh import LaneUser, Mesh
from reference_broker.cluster.metadata.feed import Works
from reference_broker.cluster.metadata.keys import MEMBERS
from reference_broker.cluster.node import ClusterNode, NodeStage
from reference_broker.cluster.questions.peers import Peers
from reference_broker.cluster.queues.queue_links import QueueLinks
from reference_broker.core.access import access_definition
from reference_broker.core.base.deadlines import Deadline
from reference_broker.core.base.ids import is_of_cluster
from reference_broker.core.broker import Broker
from reference_broker.core.definition_kinds import refuse_unknown_kinds
from reference_broker.core.exchange.definitions import decode_queue
from reference_broker.core.journal.definition_keys import (
    INNER_QUEUES,
    NODE_COPY,
    NODE_MARK,
    QUEUE,
    QUEUE_SEEN,
)
from reference_broker.core.journal.definition_store import Change
from reference_broker.core.work.budget import Budget
from reference_broker.core.work.task import Steps
from reference_broker.core.work.until import Until
from reference_broker.errors import ClusterRefused, ReferenceBrokerError
from reference_broker.runtime.cluster.metrics.node_metrics import NodeMetrics
from reference_broker.runtime.cluster.service import ClusterConfig, ClusterService
from reference_broker.runtime.disk.journal_driver import DiskDriver

_SET_UP = (access_definition.SET_UP, access_definition.VHOST, access_definition.USER)
"""The kinds of which a broker has one that somebody has set up."""

_OF_NODE = (NODE_MARK, NODE_COPY)
"""The kinds of what a node's folder alone has."""

_log = logging.getLogger(__name__)


class NodeProcess(Protocol):
    """The process around the broker of a node."""

    def as_input(self, step: Callable[[], None]) -> None:
        """Run ``step`` as an input of the core."""
        ...

    def now_wall_ms(self) -> int:
        """The wall clock."""
        ...

    def begins_with(self) -> Mapping[str, bytes]:
        """The definitions that a broker begins with which nobody has set up. Blocks."""
        ...

    def established(self) -> Steps:
        """The steps of having the users that the configuration names."""
        ...

    def cut_off(self, reason: str) -> None:
        """Have no clients, for ``reason``, until :meth:`reached`."""
        ...

    def reached(self) -> None:
        """Have clients again."""
        ...

    def left(self, reason: str) -> None:
        """The node is one of the cluster no longer: end the process, with an error."""
        ...


class BrokerNode:
    """The node that ``config`` describes. ``shared`` are the definitions of its broker, which is
    made with them; then :meth:`join`, and :meth:`stop` in the end."""

    def __init__(self, config: ClusterConfig, process: NodeProcess) -> None:
        self.config = config
        self.shared = SharedDefinitions()
        self._process = process
        self._service: ClusterService | None = None
        self.has_joined = False
        """It may serve clients."""

    async def join(self, broker: Broker, driver: DiskDriver) -> None:
        """Join the cluster, give the queues of ``broker`` their messages, and return when it may
        serve clients. ``driver`` has been started, and holds what it has found; this is an etcd
        away from returning for as long as that takes. Raises as
        :meth:`~.service.ClusterService.start` does, and :exc:`StoreError`."""
        self._broker, self._driver = broker, driver
        self.work: Works = broker.work
        self.budget: Budget = broker.budget
        definitions = driver.held_definitions
        refuse_unknown_kinds(
            (key for key in definitions if key.partition("/")[0] not in _OF_NODE), broker.version
        )
        self._brought = shared_part(definitions)
        self._changes = changes_of(self._brought)
        brought = BroughtDefinitions(self._brought, driver.holds_messages_of)
        self._service = ClusterService(
            self.config,
            self,
            mark=mark_in(definitions),
            seen=seen_in(definitions),
            proposals=proposals_in(definitions),
            run=broker.journal.epoch,
            position=broker.journal.synced,
            brought=brought if self._brought else None,
        )
        await self._service.start()
        self.has_joined = True

    async def stop(self) -> None:
        """Leave the cluster. Idempotent."""
        if self._service is not None:
            await self._service.stop()

    @property
    def members(self) -> int:
        """The nodes that have joined the cluster, this one included."""
        assert self._service is not None
        keys = self._service.node.view.keys()
        return sum(key.startswith(MEMBERS) for key in keys)

    @property
    def peers(self) -> Peers:
        """The other nodes, as the management API asks them. Once it has joined."""
        assert self._service is not None
        return self._service.peers

    async def drain(self, *, is_draining: bool) -> None:
        """Tell the others that this node, which has joined, is draining, or up again, and return
        when etcd has it. They are told if it takes longer than anybody waits. Idempotent."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        state = NodeState.DRAINING if is_draining else NodeState.UP
        self._process.as_input(partial(self._node.drain, state, partial(_settle, told)))
        await told

    @property
    def metrics(self) -> NodeMetrics:
        """The metrics of the node. Once it has joined."""
        service, homes = self._service, self._definitions.queue_homes.by_node
        assert service is not None
        return NodeMetrics(
            service.node,
            service.mesh,
            service.peers,
            self._queue_links,
            homes,
            service.coordinator,
        )

    # The host of the service

    def after(self, delay_s: float, callback: Callable[[], None]) -> Deadline:
        """See :meth:`~reference_broker.core.broker.Broker.after`."""
        return self._broker.after(delay_s, callback)

    def as_input(self, step: Callable[[], None]) -> None:
        """Run ``step`` as an input of the core."""
        self._process.as_input(step)

    def now_wall_ms(self) -> int:
        """The wall clock."""
        return self._process.now_wall_ms()

    def lanes(self, node: ClusterNode, look_at: Callable[[Link], None]) -> LaneUser:
        """The queues of this node and of the others."""
        self._queue_links = QueueLinks(self._broker, node.view.revision, look_at)
        return self._queue_links

    def made(self, node: ClusterNode, mesh: Mesh) -> None:
        """Have the broker follow the node's view, and know the others' alarms."""
        mesh.alarms.attach(self._broker.alarms)
        self._copy = FolderCopy(self._broker.journal, node.view)
        homes = self._queue_links
        self._definitions = NodeDefinitions(
            self._broker, self.shared, node, homes, self.after, _log.warning
        )
        self.peers.count_queues(self._definitions.queue_homes.by_node)

    def durable_queues_of(self, node: str) -> int:
        """The number of durable queues that have ``node`` as their home."""
        return self._definitions.queue_homes.durable_by_node[node]

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        """Write the mark to the log."""
        journal = self._broker.journal
        journal.define(KEY, encode_mark(mark))
        self._broker.ledger.promise(journal.tail, _Synced(marked))

    def joined(self, joined: Joined) -> None:
        """Give ids of this run to what is declared here, and to what the folder brings, unless this
        is the node that may bring its own."""
        self._broker.ids.take_block(joined.id_block)
        self._copy.begin(joined.cluster.history, self._driver.held_definitions)
        self._queue_links.join(joined.member.number)
        if joined.lost_disk_id is not None:
            _log.warning(
                "the node %r had another data folder before: what only that one had is lost",
                self.config.node,
            )

        keys = [] if joined.keeps_ids else list(_of_single_node(self._driver.held_definitions))
        self._broker.work.start(self._renumbered(keys), "", done=self._numbered)

    def _renumbered(self, keys: list[str]) -> Steps:
        journal, ledger = self._broker.journal, self._broker.ledger
        for key in keys if self._brought else ():
            for _ in self._driver.renumber(key, self._broker.ids.next()):
                synced = Until()
                ledger.promise(journal.tail, _Synced(synced.happened))
                if journal.synced < journal.tail:
                    yield synced

    def _numbered(self, error: Exception | None) -> None:
        if error is not None:
            self._refuse_later(error)
            return
        definitions = self._driver.held_definitions
        self._brought = shared_part(definitions)
        self._changes = changes_of(self._brought)
        self._broker.restore_own(definitions)
        self._node.load()

    def loaded(self) -> None:
        """Bring what the folder has, and give the queues their messages."""
        self._broker.work.start(self._prepared(), "", done=self._brought_all)

    def cut_off(self, reason: str) -> None:
        """See :class:`NodeProcess`."""
        self._process.cut_off(reason)

    def reached(self) -> None:
        """See :class:`NodeProcess`."""
        self._process.reached()

    def left(self, reason: str) -> None:
        """See :class:`NodeProcess`."""
        self._process.left(reason)

    # Between the whole view and the first moment at which others see the node

    def _prepared(self) -> Steps:
        yield from self._copy.tidied(self.budget)
        node, report = self._node, self._waits
        bringing = Bringing(node.view, self.shared, self._is_there, self.after, report)
        while not bringing.is_set_up and self._is_there():
            yield from bringing.set_up(self._first_changes())
        if self._changes:
            yield from bringing.add(self._changes)
        yield from self._process.established()

    def _first_changes(self) -> list[Change]:
        """The definitions of a cluster's beginning: the folder's, and the users of a first start
        where that was never done."""
        begun = any(key.partition("/")[0] in _SET_UP for key in self._brought)
        if begun:
            return self._changes
        return changes_of({**self._process.begins_with(), **self._brought})

    @property
    def _node(self) -> ClusterNode:
        assert self._service is not None
        return self._service.node

    def _is_there(self) -> bool:
        return self._node.stage is not NodeStage.ENDED

    def _waits(self, text: str) -> None:
        assert self._service is not None
        self._service.waits(text)

    def _brought_all(self, error: Exception | None) -> None:
        if error is not None:
            self._refuse_later(error)
        else:
            # The broker's work is just going on, and has to end before queues get their messages.
            asyncio.get_running_loop().call_soon(self._end_of_bringing)

    def _end_of_bringing(self) -> None:
        if not self._is_there():
            return
        try:
            self._require_queues()
            self._process.as_input(self._hand_over)
        except (ReferenceBrokerError, OSError) as error:
            self._refuse_later(error)
        else:
            self._process.as_input(self._node.prepared)

    def _refuse_later(self, error: Exception) -> None:
        assert self._service is not None
        refuse = partial(self._service.refuse, error)
        asyncio.get_running_loop().call_soon(self._process.as_input, refuse)

    def _require_queues(self) -> None:
        """Raises :exc:`ClusterRefused` where another node was quicker to declare a name whose
        messages are in this folder: they are kept."""
        for key, value in self._brought.items():
            kind, _, rest = key.partition("/")
            if kind != QUEUE:
                continue
            vhost_name, _, name = rest.partition("/")
            vhost = self._broker.vhosts.get(unquote(vhost_name))
            there = None if vhost is None else vhost.queues.get(name)
            own = decode_queue(value)
            is_own = there is not None and there.id == own.id
            if not is_own and self._driver.holds_messages_of(own.id):
                raise ClusterRefused(
                    f"the queue {name!r} in vhost {unquote(vhost_name)!r} was declared on another"
                    " node in this moment, and the data folder has messages of its own: delete it"
                    " there, and start again"
                )

    def _hand_over(self) -> None:
        journal = self._broker.journal
        for key in self._brought:
            journal.define(key, None)
        self._driver.hand_over(self._broker, self._definitions.follower.queue_ids_here())


def _of_single_node(definitions: Mapping[str, bytes]) -> Iterator[str]:
    """The keys of the queues, inner ones included, whose ids are a single node's."""
    for key, value in definitions.items():
        is_queue = key.partition("/")[0] in (QUEUE, QUEUE_SEEN, *INNER_QUEUES)
        if is_queue and not is_of_cluster(decode_queue(value).id):
            yield key


def _settle(told: asyncio.Future[None]) -> None:
    if not told.done():  # nobody may wait any more
        told.set_result(None)


class _Synced:
    """The promise to call ``kept`` when the log is on disk."""

    __slots__ = ("_kept",)

    def __init__(self, kept: Callable[[], None]) -> None:
        self._kept = kept

    def kept(self) -> None:
        """It is."""
        self._kept()

    def broken(self) -> None:
        """The disk failed, and the process ends."""
