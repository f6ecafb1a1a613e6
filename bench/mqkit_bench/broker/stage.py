"""A stage: a scenario set up on one contestant, for all its rounds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.broker.receiver import Receiver
from mqkit_bench.broker.scenario import Scenario, Subscription
from mqkit_bench.broker.sender import Sender, TimedSender
from mqkit_bench.broker.topology import SETUP_TIMEOUT_S
from mqkit_bench.broker.traffic import Traffic
from mqkit_bench.contestant import Contestant
from mqkit_bench.filler import fill
from mqkit_bench.report import Discrepancy
from mqkit_bench.ring import Ring
from mqkit_bench.session import Address, Session


@dataclass(slots=True)
class Stage:
    """Run rounds of ``traffic``, each followed by :meth:`clear`."""

    contestant: Contestant
    scenario: Scenario
    traffic: Traffic
    control: Session | None = None
    """``None`` where nothing is kept."""
    _cleared: int = field(default=0, init=False)

    def clear(self) -> None:
        """Purge what nobody consumes. Raises :exc:`Discrepancy` when it is not what was sent."""
        if self.control is None or not self.scenario.is_one_way:
            return
        sent = self.traffic.sent - self._cleared
        self._cleared += sent
        purged = self.scenario.topology.purge(self.control)
        if purged != sent:
            raise Discrepancy(f"{self.contestant.name}: {sent:,} confirmed, {purged:,} purged")


@contextmanager
def stage(contestant: Contestant, scenario: Scenario) -> Iterator[Stage]:
    """Declare, connect, consume; delete it all afterwards.

    Raises :exc:`Discrepancy` at the end of the block when the queues then hold anything but the
    scenario's backlog: a message that was not acked, or one that nobody was told of.
    """
    topology = scenario.topology
    with closing(Session(contestant.address, SETUP_TIMEOUT_S)) as control:
        topology.declare(control)
        try:
            with _traffic(contestant, scenario) as traffic:
                yield Stage(contestant, scenario, traffic, control)
                traffic.finish()
            left = topology.ready(control)
        finally:
            topology.delete(control)
    if left != scenario.backlog:
        raise Discrepancy(
            f"{contestant.name}: {scenario.name}: {scenario.backlog:,} messages should be left,"
            f" not {left:,}"
        )


@contextmanager
def _traffic(contestant: Contestant, scenario: Scenario) -> Iterator[Traffic]:
    address = contestant.address
    ring = Ring([message.publish_frames() for message in scenario.messages])
    if scenario.backlog:
        fill(contestant, ring, scenario.backlog, lambda _: None)
    with ExitStack() as stack:
        receivers = [
            stack.enter_context(closing(_receiver(address, scenario, subscription)))
            for subscription in scenario.subscriptions
        ]
        senders = [
            stack.enter_context(closing(_sender(address, scenario, ring)))
            for _ in range(scenario.publishers)
        ]
        traffic = stack.enter_context(closing(Traffic(scenario, senders, receivers)))
        if scenario.changed_on_the_way:
            traffic.learn()
        yield traffic


def _sender(address: Address, scenario: Scenario, ring: Ring) -> Sender:
    session = Session(address)
    if scenario.confirms:
        session.confirms()
    make = TimedSender if scenario.times_confirms else Sender
    return make(session.detach(), ring)


def _receiver(address: Address, scenario: Scenario, subscription: Subscription) -> Receiver:
    session = Session(address)
    consume(session, subscription)
    return Receiver(session.detach(), len(scenario.delivery_frames), subscription.ack_every)


def consume(session: Session, subscription: Subscription) -> None:
    """Begin to consume. No answer is asked for, so what arrives next is the first delivery."""
    session.call(1, methods.BasicQos(prefetch_count=subscription.prefetch), methods.BasicQosOk)
    no_ack = not subscription.ack_every
    session.socket.sendall(
        b"".join(
            wire.method_frame(
                1, methods.BasicConsume(queue=queue, consumer_tag=tag, no_ack=no_ack, nowait=True)
            )
            for queue, tag in subscription.consumer_tags
        )
    )
