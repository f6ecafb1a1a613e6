"""held_ports: nobody else has the port, nobody can connect, and it can be listened on."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.held_ports import HeldPorts
from reference_broker.runtime.net.listening_sockets import listening_sockets


@pytest.fixture
def held() -> Iterator[HeldPorts]:
    ports = HeldPorts()
    yield ports
    ports.release()


def test_a_port_that_was_named_is_not_touched(held: HeldPorts) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = Address("127.0.0.1", taken.getsockname()[1])
        assert held.hold(address) == address


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_free_port_is_held_until_it_is_listened_on(held: HeldPorts, host: str) -> None:
    address = held.hold(Address(host, 0))
    assert address.host == host
    assert held.hold(Address(host, 0)) != address
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.1", address.port)) != 0
    with pytest.raises(OSError, match="in use"):
        listening_sockets(address, 1)
    held.release()
    held.release()
    for listening in listening_sockets(address, 1):
        assert listening.getsockname()[1] == address.port
        listening.close()


def test_a_host_that_cannot_be_had_is_refused(held: HeldPorts) -> None:
    with pytest.raises(OSError, match="assign"):
        held.hold(Address("192.0.2.1", 0))
