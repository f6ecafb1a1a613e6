"""A tenant: a user with a virtual host of his own, and rights in no other one."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from http import HTTPStatus
from itertools import islice

import httpx

from mqkit.wire import methods
from mqkit_bench.contestant import Contestant
from mqkit_bench.session import Address, Session
from mqkit_bench.stalls import frames

VHOST = "stalls"
USER = "stalls"
PASSWORD = "stalls-password"
TAGS = "policymaker"
"""The management API and policies, of his own virtual host."""
PREPARE_TIMEOUT_S = 300.0
"""The longest that a preparation waits for an answer."""
PLAY_TIMEOUT_S = 120.0
"""The longest that a play waits for its end."""
POLL_S = 0.02
UNACKED_PER_CHANNEL = 65_000
"""The reference broker gives a channel no more than 65,535."""
PLAY_LEAD_S = 3.0
"""From the end of a preparation to what is due in the play: until the broker is calm."""
BATCH = 1_000
"""Frames of one write while preparing."""
RECEIVE_BYTES = 1 << 18


class Tenant:
    """Makes the virtual host and the user. Call :meth:`close`, which deletes both.

    ``scale`` is the part of the catalogue's numbers that is played. Raises ``httpx.HTTPError`` when
    the broker refuses or does not answer.
    """

    def __init__(self, contestant: Contestant, scale: float = 1.0) -> None:
        self.contestant = contestant
        self.scale = scale
        self._stack = ExitStack()
        there = contestant.address
        self.address = Address(there.host, there.port, USER, PASSWORD, VHOST)
        self._administrator = self._client(there.username, there.password)
        self._user = self._client(USER, PASSWORD)
        self._administrator.delete(f"/api/vhosts/{VHOST}")  # of a run that was broken off
        for path, wish in (
            (f"/api/vhosts/{VHOST}", {}),
            (f"/api/users/{USER}", {"password": PASSWORD, "tags": TAGS}),
            (
                f"/api/permissions/{VHOST}/{USER}",
                {"configure": ".*", "write": ".*", "read": ".*"},
            ),
        ):
            self._administrator.put(path, json=wish).raise_for_status()

    def close(self) -> None:
        """Close all sessions, and delete the virtual host with all that is in it."""
        self.hang_up()
        try:
            for path in (f"/api/vhosts/{VHOST}", f"/api/users/{USER}"):
                gone = self._administrator.delete(path)
                if gone.status_code != HTTPStatus.NOT_FOUND:  # a play may have deleted it
                    gone.raise_for_status()
        finally:
            self._administrator.close()
            self._user.close()

    def hang_up(self) -> None:
        """Close all sessions."""
        self._stack.close()

    def count(self, number: int) -> int:
        """That number of the catalogue, scaled; at least 2, so that a chain is one."""
        return max(2, round(number * self.scale))

    def seconds(self, full: float) -> float:
        """The length of an action that has no end of its own."""
        return max(0.2, full * self.scale)

    def session(self) -> Session:
        """A new connection of the user with one channel; closed with the tenant at the latest."""
        session = Session(self.address, PREPARE_TIMEOUT_S)
        self._stack.callback(session.close)
        return session

    def prepare(self, frames: Iterable[bytes]) -> Session:
        """Send the frames, and wait until the broker has handled them. Returns the session."""
        session = self.session()
        source = iter(frames)
        while batch := list(islice(source, BATCH)):
            session.socket.sendall(b"".join(batch))
        barrier(session)
        return session

    def fill(self, queue: str, messages: int, *, persistent: bool = False) -> None:
        """Publish so many tiny messages to the queue, and wait until it has them."""
        message = frames.publish("", queue, persistent=persistent)
        session = self.prepare(message for _ in range(messages))
        self.await_ready(session, queue, messages, PREPARE_TIMEOUT_S)

    def hold(self, queue: str, messages: int) -> Session:
        """Consume so many messages, and ack none of them; the session that holds them, on as many
        channels as it takes."""
        session = self.session()
        channels = range(1, 2 + (messages - 1) // UNACKED_PER_CHANNEL)
        for number in channels[1:]:
            session.call(number, methods.ChannelOpen(), methods.ChannelOpenOk)
        for number in channels:
            session.socket.sendall(frames.on_channel(number, frames.consume(queue)))
        drain(session.socket, frames.BODY_ON_ANY_CHANNEL, messages)
        return session

    def await_ready(
        self,
        session: Session,
        queue: str,
        messages: int,
        timeout_s: float = PLAY_TIMEOUT_S,
        *,
        at_most: bool = False,
    ) -> str:
        """Wait until the queue has so many ready messages; a remark when it never had."""
        deadline = time.monotonic() + timeout_s
        while True:
            ready = session.ready(queue)
            if (ready <= messages) if at_most else (ready >= messages):
                return ""
            if time.monotonic() > deadline:
                return f"{ready:,} of {messages:,} messages after {timeout_s:.0f} s"
            time.sleep(POLL_S)

    def await_gone(self, queue: str) -> str:
        """Wait until there is no such queue any more; a remark when it stays."""
        deadline = time.monotonic() + PLAY_TIMEOUT_S
        while time.monotonic() < deadline:
            status = self.ask("GET", f"/api/queues/{VHOST}/{queue}").status_code
            if status == HTTPStatus.NOT_FOUND:
                return ""
            time.sleep(POLL_S)
        return f"{queue} was there after {PLAY_TIMEOUT_S:.0f} s"

    def ask(
        self, method: str, path: str, body: bytes | None = None, *, administrator: bool = False
    ) -> httpx.Response:
        """A request to the management API, whatever the answer."""
        client = self._administrator if administrator else self._user
        headers = {} if body is None else {"content-type": "application/json"}
        return client.request(method, path, content=body, headers=headers)

    def _client(self, username: str, password: str) -> httpx.Client:
        return httpx.Client(
            base_url=self.contestant.management_url,
            auth=(username, password),
            timeout=PREPARE_TIMEOUT_S,
            trust_env=False,  # a proxy does not lead to this machine
            limits=httpx.Limits(max_keepalive_connections=0),  # brokers close what is idle
        )


def barrier(session: Session) -> str:
    """Wait until the broker has handled all that the channel sent before. No remark."""
    session.socket.settimeout(PLAY_TIMEOUT_S)
    session.call(1, methods.BasicQos(), methods.BasicQosOk)
    return ""


def write(session: Session, octets: bytes) -> str:
    """Send what was built beforehand in one write, and wait until it is handled. No remark."""
    session.socket.settimeout(PLAY_TIMEOUT_S)
    session.socket.sendall(octets)
    return barrier(session)


def ask_at_once(session: Session, question: bytes, answer: bytes, count: int) -> str:
    """Send so many questions in one write, and read all answers meanwhile. No remark."""
    session.socket.settimeout(PLAY_TIMEOUT_S)
    sending = threading.Thread(target=session.socket.sendall, args=(count * question,), daemon=True)
    sending.start()
    drain(session.socket, answer, count)
    sending.join()
    return ""


def drain(source: socket.socket, octets: bytes, count: int) -> None:
    """Read until these octets have come so often.

    Raises :exc:`ConnectionError` when the broker closes the connection before.
    """
    found, rest = 0, b""
    while found < count:
        data = source.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionError(f"closed after {found:,} of {count:,}")
        data = rest + data
        found += data.count(octets)
        rest = data[-len(octets) + 1 :]


def answer(response: httpx.Response) -> str:
    """The remark for an answer: its status where the broker has refused."""
    return "" if response.is_success else f"answer {response.status_code}"
