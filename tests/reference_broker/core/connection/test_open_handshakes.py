"""handshakes: one address can't take every place at the door."""

from __future__ import annotations

import pytest

from mqkit.wire import PROTOCOL_HEADER
from mqkit.wire.methods import ConnectionOpen, ConnectionStartOk, ConnectionTuneOk
from reference_broker.core.base.limits import Limits
from reference_broker.core.base.peer import Peer
from reference_broker.core.broker import TooManyConnections
from reference_broker.core.connection.open_handshakes import OpenHandshakes
from reference_broker.testing.lone_broker import LoneBroker

HERE, THERE = "192.0.2.1", "192.0.2.2"


def peer(host: str) -> Peer:
    return Peer(host, 50_000, "192.0.2.9", 5672)


def test_one_too_many_is_not_counted() -> None:
    handshakes = OpenHandshakes(2)
    assert [handshakes.enter(peer(HERE)) for _ in range(3)] == [True, True, False]
    assert handshakes.enter(peer(THERE))
    handshakes.leave(peer(HERE))
    assert handshakes.count(peer(HERE)) == 1
    assert handshakes.enter(peer(HERE))


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (HERE, HERE),
        ("::ffff:192.0.2.1", HERE),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("client-7", "client-7"),
    ],
)
def test_who_counts_as_one(host: str, origin: str) -> None:
    assert peer(host).origin == origin


def test_an_address_at_its_bound_leaves_room_for_others() -> None:
    lone = LoneBroker(limits=Limits(handshakes_per_address_max=2))
    idle = [lone.socket(HERE) for _ in range(2)]
    with pytest.raises(TooManyConnections, match=r"2 handshakes of 192\.0\.2\.1 are"):
        lone.socket(HERE)
    assert len(lone.broker.connections) == 2
    lone.socket(THERE)
    idle[0].disconnect()
    lone.socket(HERE)


def test_whoever_is_through_takes_no_place() -> None:
    lone = LoneBroker(limits=Limits(handshakes_per_address_max=1))
    for _ in range(3):
        client = lone.socket(HERE)
        client.send_bytes(PROTOCOL_HEADER)
        client.send(0, ConnectionStartOk({}, "PLAIN", b"\x00remote\x00remote"))
        with pytest.raises(TooManyConnections):
            lone.socket(HERE)
        client.send(0, ConnectionTuneOk(10, 8192, 0), ConnectionOpen("/"))
    assert len(lone.broker.connections) == 3
    assert lone.broker.handshakes.count(peer(HERE)) == 0
    client.disconnect()
    assert lone.broker.handshakes.count(peer(HERE)) == 0


def test_a_refused_login_takes_its_place_until_its_socket_ends() -> None:
    lone = LoneBroker(limits=Limits(handshakes_per_address_max=1))
    client = lone.socket(HERE)
    client.send_bytes(PROTOCOL_HEADER)
    client.send(0, ConnectionStartOk({}, "PLAIN", b"\x00remote\x00wrong"))
    with pytest.raises(TooManyConnections):
        lone.socket(HERE)
    lone.pass_time(5)
    lone.socket(HERE)
