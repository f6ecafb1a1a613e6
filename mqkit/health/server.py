"""The thread that answers probes. It shares nothing with the event loop but the values that it
reads: while something holds up the loop, it says so.

One thread serves all connections, so a slow one holds up no other; each has one request, of bounded
octets, in bounded time.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from errno import EMFILE, ENFILE
from http import HTTPStatus
from time import monotonic, sleep

from mqkit.errors import ConfigurationError
from mqkit.health.address import Address
from mqkit.health.request import Answer, Request, octets_of, read_head, refusal

CONNECTIONS_MAX = 32
"""Open at once: an orchestrator's probes and a scraper or two are three. What comes above that is
closed unread."""

REQUEST_TIME_S = 5.0
"""From the connection to the end of its answer: longer than any probe waits."""

READ_OCTETS = 4096

NO_DESCRIPTOR_S = 0.1
"""The pause of the thread when the process has no file descriptor left."""

_LOG = logging.getLogger(__name__)


class _Peer:
    """One connection: its request so far, then what is left of its answer."""

    def __init__(self, connection: socket.socket, deadline_s: float) -> None:
        self.connection = connection
        self.deadline_s = deadline_s
        self.head = bytearray()
        self.answer: memoryview | None = None

    @property
    def is_answered(self) -> bool:
        return self.answer is not None


class HealthServer:
    """Serves from :meth:`start` to :meth:`close`. ``answer`` is called on the thread."""

    def __init__(
        self,
        address: Address,
        answer: Callable[[Request], Answer],
        *,
        request_time_s: float = REQUEST_TIME_S,
    ) -> None:
        self._wanted = address
        self._answer = answer
        self._request_time_s = request_time_s
        self._peers: dict[socket.socket, _Peer] = {}

    def start(self) -> Address:
        """Listen, and serve from now on. Returns the address, with the port that it is.

        Raises :exc:`~mqkit.errors.ConfigurationError` where nobody can listen.
        """
        host, port = self._wanted
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listening = socket.create_server((host, port), family=family)
        except OSError as error:
            raise ConfigurationError(
                f"health={str(self._wanted)!r}: nobody can listen there: {error.strerror or error}"
            ) from None
        self._listening.setblocking(False)
        self._ending, self._end = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self._ending, selectors.EVENT_READ)
        # A daemon: a program that ends without closing its app is not kept from it.
        self._thread = threading.Thread(target=self._serve, name="mqkit health", daemon=True)
        self._thread.start()
        return Address(host, self._listening.getsockname()[1])

    def close(self) -> None:
        """Close all connections, and end the thread. Once."""
        self._end.close()
        self._thread.join()

    # -- on the thread -----------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            while self._turn():
                pass
        finally:
            for connection in (*self._peers, self._listening, self._ending):
                connection.close()
            self._selector.close()

    def _turn(self) -> bool:
        """Wait, and do what there is to do. False at the end."""
        due_s = min((peer.deadline_s for peer in self._peers.values()), default=None)
        ready = self._selector.select(None if due_s is None else max(0.0, due_s - monotonic()))
        for key, _ in ready:
            if key.fileobj is self._ending:
                return False
            if key.fileobj is self._listening:
                self._accept()
            elif (peer := self._peers.get(key.data)) is not None:
                self._guarded(self._write if peer.answer else self._read, peer)
        now_s = monotonic()
        for peer in [each for each in self._peers.values() if each.deadline_s <= now_s]:
            self._guarded(self._expire, peer)
        return True

    def _guarded(self, step: Callable[[_Peer], None], peer: _Peer) -> None:
        try:
            step(peer)
        except BlockingIOError:
            return
        except OSError:  # it is gone, and wants no answer
            self._drop(peer)

    def _accept(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except OSError as error:
            if error.errno in (EMFILE, ENFILE):  # it would be asked again at once
                sleep(NO_DESCRIPTOR_S)
            return
        if len(self._peers) >= CONNECTIONS_MAX:
            connection.close()
            return
        connection.setblocking(False)
        self._peers[connection] = _Peer(connection, monotonic() + self._request_time_s)
        self._selector.register(connection, selectors.EVENT_READ, connection)

    def _read(self, peer: _Peer) -> None:
        octets = peer.connection.recv(READ_OCTETS)
        if not octets:
            self._drop(peer)
        elif not peer.is_answered:  # else it is read so that its end can be seen
            peer.head += octets
            request = read_head(peer.head)
            if request is not None:
                self._begin_answer(peer, request)

    def _begin_answer(self, peer: _Peer, request: Request | Answer) -> None:
        with_body = True
        if isinstance(request, Request):
            with_body = request.wants_body
            request = self._answered(request)
        peer.answer = memoryview(octets_of(request, with_body=with_body))
        self._selector.modify(peer.connection, selectors.EVENT_WRITE, peer.connection)
        self._write(peer)

    def _answered(self, request: Request) -> Answer:
        try:
            return self._answer(request)
        except Exception:  # noqa: BLE001 - one answer that fails is not the end of all others
            _LOG.exception("a probe of %s could not be answered", request.path)
            return refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "this can't be answered, see the log")

    def _write(self, peer: _Peer) -> None:
        assert peer.answer is not None
        peer.answer = peer.answer[peer.connection.send(peer.answer) :]
        if not peer.answer:
            # Closed with something unread, the connection would be reset, and the answer with it.
            peer.connection.shutdown(socket.SHUT_WR)
            self._selector.modify(peer.connection, selectors.EVENT_READ, peer.connection)

    def _expire(self, peer: _Peer) -> None:
        if not peer.is_answered:
            text = f"no request within {self._request_time_s:g} s"
            with suppress(OSError):
                peer.connection.send(octets_of(refusal(HTTPStatus.REQUEST_TIMEOUT, text)))
        self._drop(peer)

    def _drop(self, peer: _Peer) -> None:
        self._selector.unregister(peer.connection)
        del self._peers[peer.connection]
        peer.connection.close()
