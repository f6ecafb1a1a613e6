"""One AMQP connection of the pika adapter: opening, channels, blocked, closing.

Everything that touches pika runs on the connection's thread
(:mod:`mqkit.transport.over_pika.loop`); the public methods hand work over to it and wait."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from typing import Any

import pika
from pika.credentials import ExternalCredentials

from mqkit.errors import Closed, DeadlineExceeded, MqkitError
from mqkit.transport.over_pika.channel import PikaChannel
from mqkit.transport.over_pika.errors import closing_error, opening_error
from mqkit.transport.over_pika.loop import LoopThread
from mqkit.transport.seam import Endpoint, OnBlocked, OnClosed
from mqkit.transport.window_size import WindowSize

LOGGER = logging.getLogger("mqkit.transport.pika")

CLOSE_TIMEOUT_S = 5.0
"""A broker that has blocked us reads nothing, a close neither: after this the socket is shut."""


class PikaConnection:
    """Keeps :class:`mqkit.transport.blocking.BlockingConnection`. Made by :meth:`open`."""

    def __init__(self, endpoint: Endpoint, window: WindowSize, call_timeout_s: float) -> None:
        self._endpoint = endpoint
        self._window = window
        self._call_timeout_s = call_timeout_s
        self._opened: Future[None] = Future()
        self._lock = threading.Lock()
        self._closed = False
        self._reason: MqkitError | None = None
        self._raw: Any = None
        self._server_properties: dict[str, object] = {}
        self._channels: list[PikaChannel] = []
        self._closed_callbacks: list[OnClosed] = []
        self._blocked_callbacks: list[OnBlocked] = []
        self._blocked_since: float | None = None
        self._blocked_before_s = 0.0
        self._thread = LoopThread(f"mqkit-pika-{endpoint.host}:{endpoint.port}", self._on_end)

    @classmethod
    def open(
        cls,
        endpoint: Endpoint,
        *,
        name: str,
        timeout_s: float,
        heartbeat_s: int,
        window: WindowSize,
        call_timeout_s: float,
    ) -> PikaConnection:
        """Connect, or raise what :meth:`PikaTransport.connect` says."""
        connection = cls(endpoint, window, call_timeout_s)
        parameters = _parameters(endpoint, name, timeout_s, heartbeat_s)
        thread = connection._thread
        thread.start(lambda: connection._begin(parameters, timeout_s))
        try:
            thread.wait(connection._opened, f"connecting to {endpoint}", timeout_s)
        except DeadlineExceeded:
            connection._abandon()
            raise
        return connection

    @property
    def is_open(self) -> bool:
        """True while the connection can be used, as far as this side knows."""
        return not self._closed

    @property
    def server_properties(self) -> dict[str, object]:
        """The broker's own description."""
        return dict(self._server_properties)

    @property
    def is_blocked(self) -> bool:
        """True while the broker has asked this client to stop publishing."""
        return self._blocked_since is not None

    @property
    def blocked_s(self) -> float:
        """For how many seconds in all the broker has blocked this connection so far."""
        since = self._blocked_since
        running_s = 0.0 if since is None else time.monotonic() - since
        return self._blocked_before_s + running_s

    def channel(self, *, confirms: bool = False) -> PikaChannel:
        """Open a channel, in confirm mode if asked."""
        opened: Future[PikaChannel] = Future()

        def open_it() -> None:
            if self._closed:
                opened.set_exception(self._why_closed())
                return
            channel = PikaChannel(
                self._thread, self._window, self._call_timeout_s, confirms=confirms
            )
            channel.pause(paused=self.is_blocked)
            channel.on_closed(lambda reason: _unless_done(opened, reason))
            try:
                raw = self._raw.channel(on_open_callback=lambda raw: start(channel, raw))
            except pika.exceptions.AMQPError as error:
                opened.set_exception(closing_error(error) or self._why_closed())
                return
            self._channels = [known for known in self._channels if known.is_open] + [channel]
            channel.attach(raw)

        def start(channel: PikaChannel, raw: Any) -> None:
            channel.begin(raw, lambda: opened.set_result(channel))

        self._thread.submit(open_it, lambda error: opened.set_exception(self._reason or error))
        return self._thread.wait(opened, "opening a channel", self._call_timeout_s)

    def close(self) -> None:
        """Close it, and its channels. Idempotent. Returns when it is closed, at the latest after
        about :data:`CLOSE_TIMEOUT_S` seconds, then without the broker's consent. Does nothing in
        a forked child: the connection is the parent's."""
        if self._closed or not self._thread.is_in_own_process():
            return
        self._thread.submit(self._close_raw, lambda _: None)
        self._thread.join(CLOSE_TIMEOUT_S)
        if not self._closed:
            self._abandon()

    def on_blocked(self, callback: OnBlocked) -> None:
        """Register for ``connection.blocked`` and ``unblocked``."""
        self._blocked_callbacks.append(callback)

    def on_closed(self, callback: OnClosed) -> None:
        """Register for the end; called at once if it is over."""
        with self._lock:
            closed = self._closed
            if not closed:
                self._closed_callbacks.append(callback)
        if closed:
            callback(self._reason)

    # ---- on the loop's thread

    def _begin(self, parameters: pika.ConnectionParameters, timeout_s: float) -> None:
        def failed(raw: Any, error: BaseException) -> None:
            heard = raw.bytes_received > 0
            failure = opening_error(error, self._endpoint, timeout_s, heard=heard)
            self._opened.set_exception(failure)
            self._thread.stop()

        self._raw = pika.SelectConnection(
            parameters,
            on_open_callback=self._on_open,
            on_open_error_callback=failed,
            on_close_callback=self._on_close,
            custom_ioloop=self._thread.loop,
        )
        self._raw.add_on_connection_blocked_callback(self._on_raw_blocked)
        self._raw.add_on_connection_unblocked_callback(self._on_raw_unblocked)

    def _on_open(self, raw: Any) -> None:
        self._server_properties = dict(raw.server_properties or {})
        if not self._opened.done():
            self._opened.set_result(None)

    def _on_raw_blocked(self, _: object, frame: Any) -> None:
        if self._blocked_since is None:
            self._blocked_since = time.monotonic()
        self._tell_blocked(frame.method.reason or "")

    def _on_raw_unblocked(self, _: object, __: object) -> None:
        self._blocked_before_s = self.blocked_s
        self._blocked_since = None
        self._tell_blocked(None)

    def _tell_blocked(self, reason: str | None) -> None:
        for channel in self._channels:
            channel.pause(paused=reason is not None)
        for callback in self._blocked_callbacks:
            _call(callback, reason)

    def _close_raw(self) -> None:
        if self._raw.is_open:
            self._raw.close()
        elif not self._raw.is_closing:
            self._thread.stop()

    def _on_close(self, _: object, error: BaseException) -> None:
        self._reason = closing_error(error)
        self._thread.stop()

    def _on_end(self, error: BaseException | None) -> None:
        """The thread is over, for whatever cause: nobody may be left waiting."""
        if error is not None:
            LOGGER.error("the connection to %s failed", self._endpoint, exc_info=error)
            self._reason = closing_error(error)
        self._blocked_before_s = self.blocked_s
        self._blocked_since = None
        with self._lock:
            self._closed = True
            callbacks = self._closed_callbacks
        if not self._opened.done():
            self._opened.set_exception(self._reason or Closed("closed before it was open"))
        for channel in self._channels:
            channel.end(self._reason)
        for callback in callbacks:
            _call(callback, self._reason)

    def _abandon(self) -> None:
        """Give the connection up without the broker's help."""
        self._thread.submit(self._shut, lambda _: None)
        self._thread.join(CLOSE_TIMEOUT_S)

    def _shut(self) -> None:
        self._thread.loop.shut_sockets()
        self._thread.stop()

    def _why_closed(self) -> MqkitError:
        return self._reason or Closed("the connection was closed by this program")


def _parameters(
    endpoint: Endpoint, name: str, timeout_s: float, heartbeat_s: int
) -> pika.ConnectionParameters:
    options, tls = endpoint.tls_options, None
    if endpoint.tls:
        tls = pika.SSLOptions(options.context(), options.server_name or endpoint.host)
    login = endpoint.credentials
    plain = pika.PlainCredentials(login.username, login.password)
    return pika.ConnectionParameters(
        host=endpoint.host,
        port=endpoint.port,
        virtual_host=endpoint.vhost,
        credentials=ExternalCredentials() if endpoint.external else plain,
        ssl_options=tls,
        heartbeat=heartbeat_s,
        connection_attempts=1,
        retry_delay=0,
        socket_timeout=timeout_s,
        stack_timeout=timeout_s,
        blocked_connection_timeout=None,
        client_properties={"product": "mqkit", "connection_name": name},
    )


def _unless_done(answer: Future[Any], reason: MqkitError | None) -> None:
    if not answer.done():
        answer.set_exception(reason or Closed("the channel was closed by this program"))


def _call(callback: Any, argument: object) -> None:
    """A user's callback: what it raises is logged, and ends nothing."""
    try:
        callback(argument)
    except Exception:
        LOGGER.exception("a callback of the connection raised")
