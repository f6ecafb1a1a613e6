"""Faults of the broker in the test's process, for the virtual host of one test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from mqkit.testing.in_process.broker_thread import BrokerThread
from mqkit.testing.in_process.confirm_faults import ArmedFault, ConfirmFault, ConfirmFaults
from mqkit.testing.queue import CONNECTION_NAME
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.names import described
from reference_broker.core.broker import Broker
from reference_broker.core.channel.consumer import Consumer
from reference_broker.core.connection.connection import Connection
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import ChannelException, ReplyCode

P = ParamSpec("P")
ResultT = TypeVar("ResultT")
Told: TypeAlias = Callable[[str, Mapping[str, Any], object], None]
"""Is told of a verb that was called: its name, its arguments, what it returned."""


def _verb(
    method: Callable[Concatenate[VhostFaults, P], ResultT],
) -> Callable[Concatenate[VhostFaults, P], ResultT]:
    """A verb of a scenario (:mod:`mqkit.testing.scenario.verbs`): it is told of where one is
    recorded."""
    signature = inspect.signature(method)

    @wraps(method)
    def called(self: VhostFaults, /, *arguments: P.args, **named: P.kwargs) -> ResultT:
        result = method(self, *arguments, **named)
        if self.told is not None:
            bound = signature.bind(self, *arguments, **named)
            bound.apply_defaults()
            _, *given = bound.arguments.items()
            self.told(method.__name__, dict(given), result)
        return result

    return called


class VhostFaults:
    """``broker.faults``. Every verb acts at once, and is called from whichever thread, in a
    coroutine too. Alarms are the whole broker's; all else befalls this test alone. What befalls a
    publish returns a fault whose ``has_struck`` says whether it has."""

    def __init__(self, thread: BrokerThread, vhost: str) -> None:
        self._thread = thread
        self._vhost = vhost
        self._confirms = ConfirmFaults()
        self._refused: dict[str, None] = {}
        self.told: Told | None = None
        """The function that is told of each verb, while a recording is under way."""

    # -- what is there -----------------------------------------------------------------------

    def connections(self) -> int:
        """The number of connections, but for that by which the test looks at its queues."""
        return self._thread.perform(lambda broker: len(self._clients(broker)))

    def consumers(self, queue: str) -> int:
        """The number of consumers of ``queue``; none where there is no such queue."""
        return self._thread.perform(lambda broker: len(self._consumers(broker, queue)))

    # -- connections -------------------------------------------------------------------------

    @_verb
    def drop_connections(self) -> int:
        """Close every socket without a word. Returns how many there were, but for that by which the
        test looks at its queues."""

        def drop(broker: Broker) -> int:
            number = len(self._clients(broker))
            for connection in self._connections(broker):
                connection.drop("dropped by a test")
            return number

        return self._thread.perform(drop)

    @_verb
    def drop_before_confirm(self, publish: int = 1) -> ArmedFault:
        """Take the publish of this number, counted from now on over all connections, and close its
        connection in place of the confirm: the client can't know that the broker has it."""
        return self._arm(publish, ConfirmFault.DROP_BEFORE)

    @_verb
    def drop_after_confirm(self, publish: int = 1) -> ArmedFault:
        """Close the connection right behind the confirm of the publish of this number."""
        return self._arm(publish, ConfirmFault.DROP_AFTER)

    @_verb
    def nack(self, publish: int = 1) -> ArmedFault:
        """Answer the publish of this number with a nack. It is in its queues all the same: a nack
        says "not in every queue", never "in none"."""
        return self._arm(publish, ConfirmFault.NACK)

    @_verb
    def hold_answers(self) -> None:
        """Take what clients send, and send them nothing, until :meth:`release_answers`."""
        self._thread.run(lambda: self._thread.server.hold_output(self._vhost))

    @_verb
    def release_answers(self) -> None:
        """Send what was held back, and all that follows. Idempotent."""
        self._thread.run(lambda: self._thread.server.release_output(self._vhost))

    # -- alarms ------------------------------------------------------------------------------

    @_verb
    def block(self) -> None:
        """Raise the memory alarm: who publishes is told connection.blocked, and not read."""
        self._thread.perform(lambda broker: broker.alarms.hold(Alarm.MEMORY))

    @_verb
    def unblock(self) -> None:
        """End :meth:`block`. Idempotent."""
        self._thread.perform(lambda broker: broker.alarms.release(Alarm.MEMORY))

    @_verb
    def fill_disk(self) -> None:
        """Raise the alarm of a full disk. It blocks as :meth:`block` does."""
        self._thread.perform(lambda broker: broker.alarms.hold(Alarm.DISK))

    @_verb
    def free_disk(self) -> None:
        """End :meth:`fill_disk`. Idempotent."""
        self._thread.perform(lambda broker: broker.alarms.release(Alarm.DISK))

    # -- queues ------------------------------------------------------------------------------

    @_verb
    def cancel_consumers(self, queue: str) -> int:
        """Cancel every consumer of ``queue``, as a broker does whose queue moves to another node.
        Returns how many there were."""

        def cancel(broker: Broker) -> int:
            consumers = self._consumers(broker, queue)
            for consumer in consumers:
                consumer.queue.remove_consumer(consumer)
                consumer.cancelled_by_broker()
            return len(consumers)

        return self._thread.perform(cancel)

    @_verb
    def refuse_queue(self, queue: str) -> None:
        """Refuse every declaration of ``queue`` with 406, until :meth:`accept_queue`."""

        def refuse(broker: Broker) -> None:
            vhost = broker.vhosts[self._vhost]
            if not self._refused:
                declare = _refusing(vhost, vhost.declare_queue, self._refused)
                vhost.declare_queue = declare
            self._refused[queue] = None

        self._thread.perform(refuse)

    @_verb
    def accept_queue(self, queue: str) -> None:
        """End :meth:`refuse_queue`. Idempotent."""
        self._thread.run(lambda: self._refused.pop(queue, None))

    # -- the end -----------------------------------------------------------------------------

    def end(self) -> None:
        """End all that goes beyond the virtual host. Idempotent."""
        self.told = None
        self.unblock()
        self.free_disk()
        self.release_answers()
        self._thread.run(lambda: self._thread.server.spoil_confirms(self._vhost, None))

    def _arm(self, publish: int, fault: ConfirmFault) -> ArmedFault:
        def arm(broker: Broker) -> ArmedFault:
            settled = {
                (connection.id, channel.number): channel.confirms.settled
                for connection in self._connections(broker)
                for channel in connection.channels.values()
                if channel.confirms is not None
            }
            armed = self._confirms.arm(publish, fault, settled)
            self._thread.server.spoil_confirms(self._vhost, self._confirms)
            return armed

        return self._thread.perform(arm)

    def _connections(self, broker: Broker) -> list[Connection]:
        return [
            connection
            for connection in broker.connections.values()
            if connection.vhost is not None and connection.vhost.name == self._vhost
        ]

    def _clients(self, broker: Broker) -> list[Connection]:
        return [
            connection
            for connection in self._connections(broker)
            if connection.client_properties.get("connection_name") != CONNECTION_NAME
        ]

    def _consumers(self, broker: Broker, queue: str) -> list[Consumer]:
        return [
            consumer
            for connection in self._connections(broker)
            for channel in connection.channels.values()
            for consumer in channel.consumers.values()
            if consumer.queue.name == queue
        ]


def _refusing(
    vhost: VHost, declare: Callable[..., Any], refused: dict[str, None]
) -> Callable[..., Any]:
    """``declare``, but for the names in ``refused``."""

    def declare_queue(name: str, **options: Any) -> Any:
        if name in refused and not options.get("passive"):
            resource = described("queue", name, vhost.name)
            raise ChannelException(
                ReplyCode.PRECONDITION_FAILED, f"inequivalent arg for {resource}: refused by a test"
            )
        return declare(name, **options)

    return declare_queue
