"""A socket that never waits, with TLS or without."""

from __future__ import annotations

import socket
import ssl

READ_OCTETS = 64 * 1024
"""Octets read at a time, at most: more than a TLS record, so nothing stays behind in the TLS layer
where no poll would see it; and below what the allocator asks the system for each time."""


class Stream:
    """Open one with :func:`open_stream`. Not thread-safe: TLS has one state for both directions."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._sending_waits = False
        self._receiving_waits = False

    @property
    def waits_to_write(self) -> bool:
        """True if the last send, or receive, was kept back until the socket can be written."""
        return self._sending_waits or self._receiving_waits

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self) -> bytes | None:
        """The octets that have arrived; none (``b""``) at the end of the stream, ``None`` for not
        yet.

        Raises :exc:`OSError`.
        """
        self._receiving_waits = False
        try:
            return self._socket.recv(READ_OCTETS)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except ssl.SSLWantWriteError:
            self._receiving_waits = True
            return None

    def send(self, octets: bytes | memoryview) -> int:
        """Returns how many of them were taken. Offer the rest again, starting with the first that
        was not: TLS wants to see the same octets. Raises :exc:`OSError`."""
        self._sending_waits = False
        try:
            return self._socket.send(octets)
        except (BlockingIOError, ssl.SSLWantWriteError):
            self._sending_waits = True
        except ssl.SSLWantReadError:
            pass
        return 0

    def linger(self, octets: bytes, timeout_s: float) -> None:
        """Send all of it, waiting for so long at most; whether it arrived nobody knows."""
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(octets)
        except OSError:
            pass

    def close(self) -> None:
        """Close the socket. With TLS, its end is announced first, without waiting for the
        peer's."""
        if isinstance(self._socket, ssl.SSLSocket):
            try:
                self._socket.setblocking(False)
                self._socket.unwrap()
            except (OSError, ValueError):
                pass
        self._socket.close()

    def close_copy(self) -> None:
        """Close the descriptor alone, in a forked child: the connection is the parent's."""
        self._socket.close()


def open_stream(
    host: str, port: int, tls: ssl.SSLContext | None, server_name: str | None, timeout_s: float
) -> Stream:
    """Connect, and shake hands if ``tls``. Raises :exc:`OSError`, and of that
    :exc:`TimeoutError` when one of the host's addresses takes more than ``timeout_s`` seconds."""
    plain = socket.create_connection((host, port), timeout_s)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is None:
            return Stream(plain)
        return Stream(tls.wrap_socket(plain, server_hostname=server_name or host))
    except BaseException:
        plain.close()
        raise
