"""Actions from outside: connections that never log in, and one that does nothing but beat."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import cycle

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench.contestant import Contestant
from mqkit_bench.session import Address, Session
from mqkit_bench.stalls import frames
from mqkit_bench.stalls.action import Play
from mqkit_bench.stalls.busy_publisher import publish_busily, rate_during
from mqkit_bench.stalls.tenant import Tenant
from mqkit_bench.worker import Worker

FLOOD_S = 5.0
WARM_S = 1.0
LOGIN_INTERVAL_S = 0.25
HTTP_THREADS = 4
HEADER_OCTETS = 64_000
PATH_OCTETS = 60_000
IDLE_SOCKETS = 1_324
HALF_REQUESTS = 300
GUESSERS = 100
GUESS_TIMEOUT_S = 10.0
HEARTBEATS = 8_192
"""Heartbeat frames of one write."""
Flood = Callable[[threading.Event], None]


def header_lines(tenant: Tenant) -> list[Flood]:
    """64 KB of header lines without a login."""
    lines = b"".join(b"x-h%d: v\r\n" % number for number in range(HEADER_OCTETS // 10))
    return _requests(tenant, b"GET /api/overview HTTP/1.1\r\nhost: localhost\r\n" + lines)


def long_paths(tenant: Tenant) -> list[Flood]:
    """60 kB of ``%2f`` without a login."""
    path = b"/api/queues/" + PATH_OCTETS // 3 * b"%2f"
    return _requests(tenant, b"GET " + path + b" HTTP/1.1\r\nhost: localhost\r\n")


def _requests(tenant: Tenant, head: bytes) -> list[Flood]:
    """The same request on four sockets, again and again."""
    place = _http_place(tenant.contestant)
    request = head + b"\r\n"

    def flood(stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                with socket.create_connection(place, timeout=1.0) as connection:
                    while not stop.is_set():
                        connection.sendall(request)
                        if not connection.recv(65_536):
                            break
            except OSError:  # refused or closed: the next one
                stop.wait(0.001)

    return [flood] * HTTP_THREADS


def heartbeats(tenant: Tenant) -> list[Flood]:
    """Two connections of the user that send nothing but heartbeat frames."""
    octets = HEARTBEATS * wire.heartbeat_frame()

    def beat(session: Session) -> Flood:
        def flood(stop: threading.Event) -> None:
            session.socket.settimeout(1.0)
            while not stop.is_set():
                try:
                    session.socket.sendall(octets)
                except TimeoutError:
                    return  # a write was cut: nothing that follows would be a frame
                except OSError:
                    return

        return flood

    return [beat(tenant.session()) for _ in range(2)]


def wrong_logins(tenant: Tenant) -> list[Flood]:
    """Strangers of a hundred addresses guess passwords."""
    there = tenant.contestant.address
    sources = cycle([f"127.0.1.{number}" for number in range(1, GUESSERS + 1)])
    response = f"\0{there.username}\0wrong".encode()
    guess = wire.PROTOCOL_HEADER + wire.method_frame(
        0,
        methods.ConnectionStartOk(
            client_properties={}, mechanism="PLAIN", response=response, locale="en_US"
        ),
    )

    def flood(stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                with socket.create_connection(
                    (there.host, there.port), GUESS_TIMEOUT_S, (next(sources), 0)
                ) as connection:
                    connection.sendall(guess)
                    while connection.recv(65_536) and not stop.is_set():
                        pass
            except OSError:
                stop.wait(0.001)

    return [flood] * GUESSERS


def idle_sockets(tenant: Tenant) -> Play:
    """1,324 sockets of one address that say nothing, as AMQP and as HTTP."""
    there = tenant.contestant.address
    places = cycle([(there.host, there.port), _http_place(tenant.contestant)])
    return lambda: _open(tenant, [next(places) for _ in range(tenant.count(IDLE_SOCKETS))], b"")


def half_requests(tenant: Tenant) -> Play:
    """Requests whose headers never end."""
    place = _http_place(tenant.contestant)
    half = b"GET /api/overview HTTP/1.1\r\nhost: localhost\r\n"
    return lambda: _open(tenant, [place] * tenant.count(HALF_REQUESTS), half)


def flood(make: Callable[[Tenant], list[Flood]]) -> Callable[[Tenant], Play]:
    """An action's preparation: the flood for some seconds, and the user's logins beside it."""

    def prepare(tenant: Tenant) -> Play:
        floods = make(tenant)
        return lambda: _flood(tenant, floods)

    return prepare


def beside_publisher(make: Callable[[Tenant], list[Flood]]) -> Callable[[Tenant], Play]:
    """The same beside a publisher of the user: what it keeps of its rate is the remark."""

    def prepare(tenant: Tenant) -> Play:
        tenant.prepare([frames.declare("busy", durable=True)])
        floods, seconds = make(tenant), tenant.seconds(FLOOD_S)

        def play() -> str:
            with Worker(publish_busily, tenant.address, "busy") as publisher:
                time.sleep(WARM_S)
                before = rate_during(publisher, lambda: time.sleep(seconds))
                during = rate_during(publisher, lambda: _run(floods, lambda: time.sleep(seconds)))
            return f"a publisher keeps {during / before:.0%} of {before:,.0f} messages/s"

        return play

    return prepare


def _open(tenant: Tenant, places: list[tuple[str, int]], octets: bytes) -> str:
    with ExitStack() as stack:
        for place in places:
            try:
                connection = stack.enter_context(socket.create_connection(place, timeout=1.0))
                connection.sendall(octets)
            except OSError:  # a broker may refuse them
                continue
        remark = _flood(tenant, [])
        began = time.perf_counter()
        status = tenant.ask("GET", "/api/health/checks/alarms", administrator=True).status_code
        return f"{remark}, health check {status} in {time.perf_counter() - began:.2f} s"


def _flood(tenant: Tenant, floods: list[Flood]) -> str:
    """Run all of it for a while; the longest login of the user meanwhile, as a remark."""
    longest = 0.0

    def log_in_again_and_again() -> None:
        nonlocal longest
        until = time.monotonic() + tenant.seconds(FLOOD_S)
        while time.monotonic() < until:
            longest = max(longest, _login(tenant.address))
            time.sleep(LOGIN_INTERVAL_S)

    _run(floods, log_in_again_and_again)
    return f"a login took up to {longest:.2f} s"


def _run(floods: list[Flood], meanwhile: Callable[[], None]) -> None:
    """Run all of them until ``meanwhile`` returns."""
    stop = threading.Event()
    threads = [threading.Thread(target=flood, args=(stop,), daemon=True) for flood in floods]
    for thread in threads:
        thread.start()
    try:
        meanwhile()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _login(address: Address) -> float:
    began = time.perf_counter()
    with closing(Session(address)):
        return time.perf_counter() - began


def _http_place(contestant: Contestant) -> tuple[str, int]:
    host, _, port = contestant.management_url.partition("//")[2].rpartition(":")
    return host, int(port)
