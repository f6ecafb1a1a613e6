"""Faults of the broker in the test's process, for the virtual host of one test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqkit.testing.in_process.broker_thread import BrokerThread
from mqkit.testing.in_process.confirm_faults import ConfirmFault, ConfirmFaults
from reference_broker.core.alarms import Alarm
from reference_broker.core.base.names import described
from reference_broker.core.broker import Broker
from reference_broker.core.connection.connection import Connection
from reference_broker.core.vhost.vhost import VHost
from reference_broker.errors import ChannelException, ReplyCode


class VhostFaults:
    """``broker.faults``. Every verb acts at once, and is called from whichever thread, in a
    coroutine too. Alarms are the whole broker's; all else befalls this test alone."""

    def __init__(self, thread: BrokerThread, vhost: str) -> None:
        self._thread = thread
        self._vhost = vhost
        self._confirms = ConfirmFaults()
        self._refused: dict[str, None] = {}

    # -- connections -------------------------------------------------------------------------

    def drop_connections(self) -> None:
        """Close every socket without a word."""

        def drop(broker: Broker) -> None:
            for connection in self._connections(broker):
                connection.drop("dropped by a test")

        self._thread.perform(drop)

    def drop_before_confirm(self, publish: int = 1) -> None:
        """Take the publish of this number, counted from now on over all connections, and close its
        connection in place of the confirm: the client can't know that the broker has it."""
        self._arm(publish, ConfirmFault.DROP_BEFORE)

    def drop_after_confirm(self, publish: int = 1) -> None:
        """Close the connection right behind the confirm of the publish of this number."""
        self._arm(publish, ConfirmFault.DROP_AFTER)

    def nack(self, publish: int = 1) -> None:
        """Answer the publish of this number with a nack. It is in its queues all the same: a nack
        says "not in every queue", never "in none"."""
        self._arm(publish, ConfirmFault.NACK)

    def hold_answers(self) -> None:
        """Take what clients send, and send them nothing, until :meth:`release_answers`."""
        self._thread.run(lambda: self._thread.server.hold_output(self._vhost))

    def release_answers(self) -> None:
        """Send what was held back, and all that follows. Idempotent."""
        self._thread.run(lambda: self._thread.server.release_output(self._vhost))

    # -- alarms ------------------------------------------------------------------------------

    def block(self) -> None:
        """Raise the memory alarm: who publishes is told connection.blocked, and not read."""
        self._thread.perform(lambda broker: broker.alarms.hold(Alarm.MEMORY))

    def unblock(self) -> None:
        """End :meth:`block`. Idempotent."""
        self._thread.perform(lambda broker: broker.alarms.release(Alarm.MEMORY))

    def fill_disk(self) -> None:
        """Raise the alarm of a full disk. It blocks as :meth:`block` does."""
        self._thread.perform(lambda broker: broker.alarms.hold(Alarm.DISK))

    def free_disk(self) -> None:
        """End :meth:`fill_disk`. Idempotent."""
        self._thread.perform(lambda broker: broker.alarms.release(Alarm.DISK))

    # -- queues ------------------------------------------------------------------------------

    def cancel_consumers(self, queue: str) -> int:
        """Cancel every consumer of ``queue``, as a broker does whose queue moves to another node.
        Returns how many there were."""

        def cancel(broker: Broker) -> int:
            consumers = [
                consumer
                for connection in self._connections(broker)
                for channel in connection.channels.values()
                for consumer in channel.consumers.values()
                if consumer.queue.name == queue
            ]
            for consumer in consumers:
                consumer.queue.remove_consumer(consumer)
                consumer.cancelled_by_broker()
            return len(consumers)

        return self._thread.perform(cancel)

    def refuse_queue(self, queue: str) -> None:
        """Refuse every declaration of ``queue`` with 406, until :meth:`accept_queue`."""

        def refuse(broker: Broker) -> None:
            vhost = broker.vhosts[self._vhost]
            if not self._refused:
                declare = _refusing(vhost, vhost.declare_queue, self._refused)
                vhost.declare_queue = declare  # type: ignore[method-assign]
            self._refused[queue] = None

        self._thread.perform(refuse)

    def accept_queue(self, queue: str) -> None:
        """End :meth:`refuse_queue`. Idempotent."""
        self._thread.run(lambda: self._refused.pop(queue, None))

    # -- the end -----------------------------------------------------------------------------

    def end(self) -> None:
        """End all that goes beyond the virtual host. Idempotent."""
        self.unblock()
        self.free_disk()
        self.release_answers()
        self._thread.run(lambda: self._thread.server.spoil_confirms(self._vhost, None))

    def _arm(self, publish: int, fault: ConfirmFault) -> None:
        def arm(broker: Broker) -> None:
            settled = {
                (connection.id, channel.number): channel.confirms.settled
                for connection in self._connections(broker)
                for channel in connection.channels.values()
                if channel.confirms is not None
            }
            self._confirms.arm(publish, fault, settled)
            self._thread.server.spoil_confirms(self._vhost, self._confirms)

        self._thread.perform(arm)

    def _connections(self, broker: Broker) -> list[Connection]:
        return [
            connection
            for connection in broker.connections.values()
            if connection.vhost is not None and connection.vhost.name == self._vhost
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
