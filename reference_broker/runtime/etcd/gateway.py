"""Requests to one member of etcd, carried by aiohttp: the only module that knows that library.

[T] A failure is only called certain where nothing can have been sent: no connection was made.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from reference_broker.runtime.etcd.config import Endpoint
from reference_broker.runtime.etcd.failures import Fate, GatewayFailure, failure_of, one_line
from reference_broker.runtime.etcd.fields import BadAnswer, Message
from reference_broker.runtime.etcd.json_lines import json_object

CONNECT_TIMEOUT_S = 2.0
"""Seconds for a connection, its TLS included. One to a host that is gone gets no answer at all, and
the next endpoint waits for it."""

CONNECTIONS_MAX = 32
"""Connections to one member: a request at a time on each."""

IDLE_S = 60.0
"""Seconds that a connection waits for its next request. etcd itself closes none."""

ANSWER_OCTETS_MAX = 96 * 1024 * 1024
"""Octets of an answer: a page of 1,000 values of 64 KiB, in base64."""

CHUNK_OCTETS = 256 * 1024

_BROKE = "the connection broke"
_REFUSED_CERTIFICATE = ("CERTIFICATE", "UNKNOWN_CA")
"""In OpenSSL's names of the alerts of a peer that does not take the client's certificate: it has
looked at nothing else then."""


class Gateway:
    """Requests to whichever member is named. For one event loop; :meth:`close` it in the end."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None
        self._date = "", 0.0
        """The date of the last answer, and this machine's time at which it came."""

    async def ask(
        self, endpoint: Endpoint, path: str, body: Mapping[str, Any], token: str, within_s: float
    ) -> Message:
        """The answer to a request. Raises :exc:`GatewayFailure`."""
        try:
            async with (
                asyncio.timeout(within_s),
                self._post(endpoint, path, body, token) as response,
            ):
                answer = await _whole(endpoint, response)
                self._date = response.headers.get("Date", ""), time.time()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _as_failure(endpoint, error, within_s) from None
        try:
            return json_object(answer)
        except BadAnswer as error:
            raise _failure(endpoint, f"there is no etcd: {error}") from None

    @asynccontextmanager
    async def stream(
        self, endpoint: Endpoint, path: str, body: Mapping[str, Any], token: str
    ) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        """The chunks of an answer without an end, for the time of the block. Raises
        :exc:`GatewayFailure`, the chunks do as well."""
        try:
            async with self._post(endpoint, path, body, token) as response:
                yield _chunks(endpoint, response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _as_failure(endpoint, error) from None

    @property
    def ahead_s(self) -> float:
        """See :attr:`EtcdClient.ahead_s`."""
        date, came_at = self._date
        try:
            return parsedate_to_datetime(date).timestamp() - came_at
        except ValueError:
            return 0.0

    async def close(self) -> None:
        """Close the connections, and end the requests. Idempotent."""
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def _post(
        self, endpoint: Endpoint, path: str, body: Mapping[str, Any], token: str
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            self._session = _session(self._tls)
        async with self._session.post(
            endpoint.url + path,
            data=json.dumps(body, separators=(",", ":")).encode(),
            headers={"Authorization": token} if token else None,
            allow_redirects=False,
        ) as response:
            if response.status != 200:
                failure = failure_of(response.status, await _whole(endpoint, response))
                raise _failure(endpoint, failure.reason, failure.fate)
            yield response


def _session(tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            ssl=tls or True,
            limit=0,
            limit_per_host=CONNECTIONS_MAX,
            keepalive_timeout=IDLE_S,
        ),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Content-Type": "application/json"},
        read_bufsize=CHUNK_OCTETS,
    )


async def _whole(endpoint: Endpoint, response: aiohttp.ClientResponse) -> bytes:
    answer = bytearray()
    async for chunk in response.content.iter_any():
        answer += chunk
        if len(answer) > ANSWER_OCTETS_MAX:
            raise _failure(endpoint, f"an answer has more than {ANSWER_OCTETS_MAX} octets")
    return bytes(answer)


async def _chunks(
    endpoint: Endpoint, response: aiohttp.ClientResponse
) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _as_failure(endpoint, error) from None


def _as_failure(
    endpoint: Endpoint, error: BaseException, within_s: float = CONNECT_TIMEOUT_S
) -> GatewayFailure:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            why = error.certificate_error
            words = getattr(why, "verify_message", "") or str(why)
            reason = f"its certificate is not trusted: {one_line(words)}"
            return _failure(endpoint, reason, Fate.ELSEWHERE)
        case aiohttp.ConnectionTimeoutError():
            reason = f"no connection within {CONNECT_TIMEOUT_S:g} s"
            return _failure(endpoint, reason, Fate.ELSEWHERE)
        case aiohttp.ClientConnectorError(os_error=ConnectionResetError()):
            reason = f"{_BROKE} in the TLS handshake: name it with http:// if it speaks no TLS"
            return _failure(endpoint, reason, Fate.ELSEWHERE)
        case aiohttp.ClientConnectorError():
            return _failure(endpoint, _words(error.os_error), Fate.ELSEWHERE)
        case aiohttp.ClientOSError(__cause__=ssl.SSLError() as alert):
            # With TLS 1.3 a certificate is refused after the client has begun to send.
            refused = any(each in (alert.reason or "") for each in _REFUSED_CERTIFICATE)
            fate = Fate.ELSEWHERE if refused else Fate.UNKNOWN
            return _failure(endpoint, _words(alert), fate)
        case aiohttp.ClientResponseError():
            return _failure(endpoint, "there is no etcd: it does not speak HTTP")
        case TimeoutError():
            return _failure(endpoint, f"no answer within {within_s:g} s")
        case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError():
            return _failure(endpoint, _BROKE)
        case _:
            return _failure(endpoint, _words(error))


def _words(error: BaseException) -> str:
    """The error's own words, without the numbers and the addresses around them."""
    match error:
        case ssl.SSLError(reason=str() as reason):
            return f"TLS failed: {reason.lower().replace('_', ' ')}"
        case OSError(errno=int() as number) if number > 0:
            return os.strerror(number)
        case OSError(strerror=str() as words):  # of the resolver
            return one_line(words)
    return one_line(str(error)) or type(error).__name__


def _failure(endpoint: Endpoint, reason: str, fate: Fate = Fate.UNKNOWN) -> GatewayFailure:
    return GatewayFailure(f"etcd at {endpoint}: {reason}", fate)
