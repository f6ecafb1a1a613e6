"""On what the sockets of an address listen."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from reference_broker.runtime.net.address import Address
from reference_broker.runtime.net.listening_sockets import LOCALHOST, listening_sockets


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def names(stack: ExitStack, host: str, port: int = 0) -> list[tuple[str, int]]:
    sockets = listening_sockets(Address(host, port), 5)
    return [stack.enter_context(each).getsockname()[:2] for each in sockets]


def test_one_address_is_one_socket(opened: ExitStack) -> None:
    [(host, port)] = names(opened, "127.0.0.1")
    assert host == "127.0.0.1"
    with socket.create_connection((host, port), timeout=10):
        pass


@needs_ipv6
def test_localhost_is_both_loopback_addresses_with_one_port(opened: ExitStack) -> None:
    (first, port), (second, second_port) = names(opened, LOCALHOST)
    assert (first, second) == ("127.0.0.1", "::1")
    assert port == second_port
    for host in (first, second):
        with socket.create_connection((host, port), timeout=10):
            pass


def test_localhost_without_ipv6_is_one(opened: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    create = socket.create_server

    def create_server(address: tuple[str, int], **options: object) -> socket.socket:
        if options["family"] == socket.AF_INET6:
            raise OSError(97, "Address family not supported by protocol")
        return create(address, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "create_server", create_server)
    assert [host for host, _ in names(opened, LOCALHOST)] == ["127.0.0.1"]


@needs_ipv6
def test_a_port_that_is_taken_on_one_of_both_leaves_none_open(opened: ExitStack) -> None:
    taken = opened.enter_context(socket.create_server(("::1", 0), family=socket.AF_INET6))
    port = taken.getsockname()[1]
    with pytest.raises(OSError, match="in use"):
        listening_sockets(Address(LOCALHOST, port), 5)
    assert [each for each, _ in names(opened, "127.0.0.1", port)] == ["127.0.0.1"]
