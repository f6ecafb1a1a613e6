"""Actions in which very many connections begin at once, with TLS and without."""

from __future__ import annotations

import select
import socket
import ssl
import time
from contextlib import ExitStack

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.stalls.action import Play
from mqkit_bench.stalls.tenant import PLAY_TIMEOUT_S, Tenant

CONNECTIONS = 2_500
TRICKLING = 300
TRICKLE_S = 5.0


def logins(tenant: Tenant) -> Play:
    """2,500 connections over plain TCP that log in rightly and open the virtual host."""
    user = tenant.address
    response = f"\0{user.username}\0{user.password}".encode()
    start = methods.ConnectionStartOk(
        client_properties={}, mechanism="PLAIN", response=response, locale="en_US"
    )
    octets = (
        wire.PROTOCOL_HEADER
        + wire.method_frame(0, start)
        + wire.method_frame(0, methods.ConnectionTuneOk(2047, 131_072, 0))
        + wire.method_frame(0, methods.ConnectionOpen(virtual_host=user.vhost))
    )
    opened = wire.method_frame(0, methods.ConnectionOpenOk())
    place = (user.host, user.port)
    return lambda: _at_once(place, octets, opened, tenant.count(CONNECTIONS))


def tls(tenant: Tenant) -> Play:
    """2,500 handshakes to which the broker has answered, and that then stall."""
    octets, place = client_hello(), _tls_place(tenant)
    return lambda: _at_once(place, octets, b"", tenant.count(CONNECTIONS))


def tls_trickle(tenant: Tenant) -> Play:
    """Handshakes that come an octet at a time."""
    octets, place = client_hello(), _tls_place(tenant)
    connections = tenant.count(TRICKLING)

    def play() -> str:
        with ExitStack() as stack:
            trickling = [
                stack.enter_context(socket.create_connection(place)) for _ in range(connections)
            ]
            until = time.monotonic() + tenant.seconds(TRICKLE_S)
            for number in range(len(octets)):
                for connection in trickling:
                    try:
                        connection.send(octets[number : number + 1])
                    except OSError:  # the broker may have had enough of it
                        continue
                if time.monotonic() >= until:
                    break
        return ""

    return play


def client_hello() -> bytes:
    """The first octets of a TLS client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise ssl.SSLError("a handshake without an answer")


def _tls_place(tenant: Tenant) -> tuple[str, int]:
    contestant = tenant.contestant
    if contestant.amqps_port is None:
        raise ConnectionError(f"{contestant.name} is not known to speak TLS")
    return contestant.address.host, contestant.amqps_port


def _at_once(place: tuple[str, int], octets: bytes, awaited: bytes, count: int) -> str:
    """Open all connections, write the same to each, and wait until each has got what is awaited, or
    anything where that is empty."""
    with ExitStack() as stack:
        poll = select.epoll()
        stack.callback(poll.close)
        connections = {}
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(place, PLAY_TIMEOUT_S))
            connection.sendall(octets)
            connections[connection.fileno()] = connection
            poll.register(connection, select.EPOLLIN)
        heard: dict[int, bytes] = {}
        deadline = time.monotonic() + PLAY_TIMEOUT_S
        closed = 0
        while connections and time.monotonic() < deadline:
            for descriptor, _ in poll.poll(1.0):
                data = _receive(connections[descriptor])
                heard[descriptor] = heard.get(descriptor, b"") + data
                if not data or awaited in heard[descriptor]:
                    closed += not data
                    poll.unregister(descriptor)
                    del connections[descriptor]
        left = f"{len(connections):,} of {count:,} not answered" if connections else ""
        return left or (f"{closed:,} of {count:,} closed" if closed else "")


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65_536)
    except OSError:
        return b""
