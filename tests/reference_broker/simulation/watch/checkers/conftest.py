"""A small script of events, to tell a checker what happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from reference_broker.simulation.events.events import (
    Copy,
    DeathNote,
    Delivery,
    Message,
    Removal,
    RemovalKind,
    Settlement,
    Start,
)
from reference_broker.simulation.watch.checkers import Checker


class Script:
    """Tells a checker of events, with the stamps and counts that a run would give them. A stamp is
    a millisecond too."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.stamp = 0
        self._settled: Counter[int] = Counter()

    def publish(
        self,
        number: int,
        *queues: str,
        session: int = 1,
        persistent: bool = True,
        priority: int | None = None,
        expiration_ms: int | None = None,
    ) -> Message:
        self.stamp += 1
        message = Message(
            number,
            session,
            queues or ("q",),
            persistent,
            self._settled[session],
            priority=priority,
            expiration_ms=expiration_ms,
            stamp=self.stamp,
            wall_ms=self.stamp,
        )
        self.checker.published(message)
        return message

    def confirmed(self, message: Message) -> None:
        self.checker.confirmed(message, self.stamp)

    def confirm(self, number: int, *queues: str, session: int = 1, persistent: bool = True) -> None:
        self.confirmed(self.publish(number, *queues, session=session, persistent=persistent))

    def deliver(
        self,
        number: int,
        queue: str = "q",
        *,
        session: int = 1,
        redelivered: bool = False,
        alone: bool = False,
        prefetch: int = 0,
        channel_prefetch: int = 0,
        consumer: str = "tag",
        no_ack: bool = False,
        sent: int | None = None,
        history: Sequence[DeathNote] = (),
    ) -> Delivery:
        self.stamp += 1
        stamp = self.stamp if sent is None else sent
        delivery = Delivery(
            number,
            queue,
            session,
            stamp,
            redelivered,
            alone,
            consumer,
            prefetch,
            channel_prefetch,
            no_ack,
            sent_ms=stamp,
            history=tuple(history),
            first_death=history[-1][:2] if history else None,
            last_death=history[0][:2] if history else None,
        )
        self.checker.delivered(delivery)
        return delivery

    def settle(self, delivery: Delivery, how: Settlement = Settlement.ACK) -> None:
        self._settled[delivery.session] += 1
        self.checker.settled(delivery, how)

    def remove(self, kind: RemovalKind, queue: str = "q", *held: Delivery) -> Removal:
        """Asked for, with that in the hands of the one who asks; see :meth:`removed`."""
        self.stamp += 1
        removal = Removal(kind, queue, 1, self.stamp, [each.entry for each in held])
        self.checker.removal_sent(removal)
        return removal

    def removed(self, removal: Removal) -> None:
        self.stamp += 1
        removal.done = self.stamp
        self.checker.removed(removal)

    def start(self, **queues: Sequence[int | Copy]) -> None:
        self.stamp += 1
        copies = {
            name: [each if isinstance(each, Copy) else Copy(each) for each in numbers]
            for name, numbers in queues.items()
        }
        self.checker.started(Start(copies, self.stamp, self.stamp))


@pytest.fixture
def script() -> Callable[[Checker], Script]:
    return Script
