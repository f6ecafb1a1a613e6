"""The order in which a turn ends, with a real broker and what a loop has around it."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import BasicConsume, BasicDeliver, QueueDeclare
from reference_broker.core.connection.connection import Connection
from reference_broker.runtime.process.turn_end import end_turn
from reference_broker.testing.lone_broker import LoneBroker


class Turn:
    """The parts of a turn as they were done, in order."""

    def __init__(self) -> None:
        self.lone = LoneBroker()
        self.done: list[str] = []
        self.sockets: dict[int, Socket] = {}
        self.armed: float | None = None

    def end(self) -> None:
        end_turn(self.lone.broker, self.sockets, lambda: self.done.append("disk"), self.arm)

    def arm(self, at: float | None) -> None:
        self.done.append("tick")
        self.armed = at


class Socket:
    def __init__(self, turn: Turn, name: str, connection: Connection) -> None:
        self.turn = turn
        self.name = name
        self.connection = connection
        turn.sockets[connection.id] = self

    def flush(self) -> None:
        self.turn.done.append(self.name)


@pytest.fixture
def turn() -> Turn:
    return Turn()


def test_who_has_something_to_say_comes_before_the_disk_and_the_tick_is_last(turn: Turn) -> None:
    publisher, consumer = turn.lone.client(), turn.lone.client(heartbeat_s=30)
    Socket(turn, "idle", turn.lone.client().connection)
    consumer.send(1, QueueDeclare("q"), BasicConsume("q", no_ack=True))
    consumer.received()
    Socket(turn, "publisher", publisher.connection)
    Socket(turn, "consumer", consumer.connection)
    turn.end()
    turn.done.clear()
    publisher.publish("q", b"body")
    turn.end()
    assert "consumer" in turn.done
    assert "idle" not in turn.done
    assert turn.done[-2:] == ["disk", "tick"]
    assert [type(each.method) for each in consumer.received()] == [BasicDeliver]
    assert turn.armed == turn.lone.broker.next_deadline() is not None


def test_a_connection_whose_socket_is_gone_is_passed_over(turn: Turn) -> None:
    turn.lone.client()
    turn.end()
    assert turn.done == ["disk", "tick"]
