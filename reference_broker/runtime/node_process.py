"""The server as the process of a node of a cluster. Imported only where there is one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Protocol

from reference_broker.core.broker import Broker
from reference_broker.core.work.task import Steps
from reference_broker.errors import ClusterRefused, ReferenceBrokerError
from reference_broker.runtime.cluster.broker_node import BrokerNode
from reference_broker.runtime.cluster.configuration import cluster_config
from reference_broker.runtime.cluster_settings import ClusterSettings
from reference_broker.runtime.config import Address, ServerConfig, UserConfig
from reference_broker.runtime.initial_users import established_users, first_definitions
from reference_broker.runtime.process.pauses import Cause, Pauses

LISTEN_RETRY_S = 1.0
"""Seconds between two attempts to listen where somebody else has the address."""

_log = logging.getLogger(__name__)


class NodeServer(Protocol):
    """The server, as its part in a cluster sees it."""

    broker: Broker
    failure: asyncio.Future[ReferenceBrokerError]
    pauses: Pauses

    def as_input(self, step: Callable[[], None], cause: str) -> None:
        """Run ``step`` as an input of the core."""
        ...

    def now(self) -> tuple[float, int]:
        """Monotonic seconds, and milliseconds of the wall clock."""
        ...


def node_of(config: ServerConfig, settings: ClusterSettings, server: NodeServer) -> BrokerNode:
    """The node that ``server`` is. Blocks: it reads files. Raises :exc:`BadConfiguration`."""
    made = cluster_config(settings, config.node, amqp=_told(config.amqp), http=_told(config.http))
    return BrokerNode(made, _Process(server, config.users))


def _told(address: Address | None) -> str:
    """The address, for others; empty where there is none."""
    return "" if address is None else str(address)


class _Process:
    """See :class:`~reference_broker.runtime.cluster.broker_node.NodeProcess`."""

    def __init__(self, server: NodeServer, users: tuple[UserConfig, ...]) -> None:
        self._server = server
        self._users = users
        self._settling: set[asyncio.Task[None]] = set()

    def as_input(self, step: Callable[[], None]) -> None:
        self._server.as_input(step, "the cluster")

    def now_wall_ms(self) -> int:
        return self._server.now()[1]

    def begins_with(self) -> Mapping[str, bytes]:
        return first_definitions(self._users)

    def established(self) -> Steps:
        return established_users(self._server.broker, self._users, _log.warning)

    def cut_off(self, reason: str) -> None:
        name = self._server.broker.node_name
        _log.warning("clients are closed, and none is accepted: %s", reason)
        self._start(
            self._server.pauses.begin(
                Cause.CLUSTER, f"node '{name}' is cut off: {reason}; connect to another node"
            )
        )

    def reached(self) -> None:
        _log.warning("clients are accepted again: the cluster is reached")
        self._start(self._accept_again())

    async def _accept_again(self) -> None:
        pauses = self._server.pauses
        settle: Callable[[], Coroutine[None, None, None]] = partial(pauses.end, Cause.CLUSTER)
        while True:
            try:
                await settle()
            except OSError as error:
                _log.error("clients can't be accepted yet: %s", error)
                settle = pauses.settle
                await asyncio.sleep(LISTEN_RETRY_S)
            else:
                return

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    def left(self, reason: str) -> None:
        if not self._server.failure.done():
            self._server.failure.set_result(ClusterRefused(reason))
