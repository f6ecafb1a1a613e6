"""The workload of clients with messages in a run.

found the user --> publish and consume, through all faults --> publishers stop
    --> consumers stop --> every queue is drained at some node --> nothing is left
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from reference_broker.core.access.passwords import hash_password
from reference_broker.core.access.permission import Permission
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.simulation.cluster.messages.client import PASSWORD, USER, Client
from reference_broker.simulation.cluster.messages.consumer import Consumer, Drainer
from reference_broker.simulation.cluster.messages.homes import VHOST
from reference_broker.simulation.cluster.messages.publisher import Publisher
from reference_broker.simulation.cluster.messages.remains import hold_no_ghosts, hold_nothing_left
from reference_broker.simulation.cluster.messages.topology import NAMES
from reference_broker.simulation.cluster.request import Request

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.simulation.cluster.process import NodeProcess
    from reference_broker.simulation.cluster.world import ClusterWorld

PUBLISHERS = 2
CONSUMERS = 3
RESTLESSNESS = (0.0, 0.03, 0.2)

LOOK_US = 4_000_000
FOUND_US = (10_000, 2_000_000)

PUBLISHERS_STOP_US = 20_000_000
"""Microseconds after the last fault."""
CONSUMERS_STOP_US = 50_000_000
DRAINED_US = 105_000_000


class Workload:
    """The clients of a world. :meth:`begin` at the start; :meth:`calm` after the last fault;
    :meth:`hold` at the end of everything."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        restlessness = world.message_random.choice(RESTLESSNESS)
        self._publishers = [Publisher(world, number) for number in range(PUBLISHERS)]
        self._consumers = [
            Consumer(world, PUBLISHERS + number, restlessness) for number in range(CONSUMERS)
        ]
        self._drainers = [
            Drainer(world, PUBLISHERS + CONSUMERS + number, queue)
            for number, queue in enumerate(NAMES)
        ]

    @property
    def _clients(self) -> list[Client]:
        return [*self._publishers, *self._consumers, *self._drainers]

    def begin(self) -> None:
        """Found the clients' user, and then have them hop."""
        self._found_later()
        self._world.clock.after(LOOK_US, self._look)

    def calm(self) -> None:
        """The last fault is over: the rest of the run has its times."""
        after = self._world.clock.after
        after(PUBLISHERS_STOP_US, partial(_stop, self._publishers))
        after(CONSUMERS_STOP_US, partial(_stop, self._consumers))
        after(CONSUMERS_STOP_US, partial(_hop, self._drainers))
        after(DRAINED_US, partial(_stop, self._drainers))

    def hold(self) -> None:
        """Everything was drained, and nothing is left of it anywhere."""
        self._world.message_laws.hold_durability()
        for process in self._world.processes.values():
            hold_nothing_left(process)

    def _look(self) -> None:
        for client in self._clients:
            client.hold_answered()
        for process in self._world.processes.values():
            if process.serves and not process.is_gone and process.stands_since_us is None:
                self._world.counts["ghosts looked for"] += hold_no_ghosts(process)
        self._world.clock.after(LOOK_US, self._look)

    # The user

    def _found_later(self) -> None:
        delay_us = self._world.message_random.randint(*FOUND_US)
        self._world.clock.after(delay_us, self._found)

    def _found(self) -> None:
        serving = [each for each in self._world.processes.values() if each.serves]
        serving = [each for each in serving if not each.is_gone]
        if not serving:
            self._found_later()
            return
        process = self._world.message_random.choice(serving)
        process.kill_hooks.append(self._found_later)
        self._step(process, list(_founding(process.broker.broker)))

    def _step(self, process: NodeProcess, steps: list[Callable[[], None]]) -> None:
        if not steps:
            process.kill_hooks.remove(self._found_later)
            _hop([*self._publishers, *self._consumers])
            return

        def ended(how: str) -> None:
            self._step(process, steps[1:] if how == "done" else steps)

        process.inbox.later(1_000, Request(self._world, process, steps[0], ended).attempt)


def _founding(broker: Broker) -> tuple[Callable[[], None], ...]:
    everything = Permission.of(".*", ".*", ".*")

    def put_vhost() -> None:
        if VHOST not in broker.vhosts:
            broker.add_vhost(VHOST, VHostInfo())

    return (
        put_vhost,
        lambda: broker.access.put_user(USER, hash_password(PASSWORD.encode(), b"salt"), (), {}),
        lambda: broker.access.set_permission(USER, VHOST, everything),
    )


def _stop(clients: Sequence[Client]) -> None:
    for client in clients:
        client.stop()


def _hop(clients: Sequence[Client]) -> None:
    for client in clients:
        client.hop_later()
