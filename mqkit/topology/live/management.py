"""Requests to a broker's management HTTP API, with what goes wrong in words.

The paths and names are RabbitMQ's, so that one client speaks to RabbitMQ and the reference broker.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from mqkit.errors import ConfigurationError, DeadlineExceeded, Unreachable
from mqkit.tls import TlsOptions, query_parameters, tls_options
from mqkit.url import redact

if TYPE_CHECKING:
    import httpx

    from mqkit.topology.policy.policy_model import PolicyModel

MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""One answer of the management API; a hundred thousand queues are some 100 MB."""

MAX_REASON_CHARACTERS = 500
"""Of a refusal's reason, in a message."""

NOT_AMQP = "the management URL is not the AMQP one; its port is usually 15672"
Row: TypeAlias = Mapping[str, Any]


class NotAllowed(ConfigurationError):
    """The API does not answer this question: this user may not ask it, or the broker has no such
    page. ``status`` is its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Management:
    """The management API of one vhost. Made by :func:`open_management`.

    Raises :exc:`~mqkit.errors.Unreachable` when nobody answers,
    :exc:`~mqkit.errors.DeadlineExceeded`, and :exc:`~mqkit.errors.ConfigurationError` for a wrong
    URL, login or vhost. Messages never show the password.
    """

    def __init__(
        self, client: httpx.AsyncClient, base: str, shown: str, vhost: str, tls: TlsOptions
    ) -> None:
        self._client = client
        self._base = base
        self._shown = shown
        self._tls = tls
        self.vhost = vhost

    async def rows(self, kind: str) -> list[Row]:
        """The objects of ``kind`` in the vhost. Raises :exc:`NotAllowed`, too."""
        found = await self._read(f"/api/{kind}/{quote(self.vhost, safe='')}")
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise self.strange()
        return found

    async def queue(self, name: str) -> Row | None:
        """One queue with its counts; ``None`` if it is not there."""
        try:
            found = await self._read(self._queue_path(name))
        except NotAllowed as refusal:
            if refusal.status != HTTPStatus.NOT_FOUND:
                raise
            return None
        if not isinstance(found, dict):
            raise self.strange()
        return found

    async def bindings_of(self, queue: str) -> list[Row]:
        """The bindings of one queue; none if it is not there."""
        try:
            found = await self._read(f"{self._queue_path(queue)}/bindings")
        except NotAllowed as refusal:
            if refusal.status != HTTPStatus.NOT_FOUND:
                raise
            return []
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise self.strange()
        return found

    def _queue_path(self, name: str) -> str:
        return f"/api/queues/{quote(self.vhost, safe='')}/{quote(name, safe='')}"

    async def overview(self) -> Row:
        """``/api/overview``."""
        found = await self._read("/api/overview")
        if not isinstance(found, dict):
            raise self.strange()
        return found

    async def put_policy(self, policy: PolicyModel) -> None:
        """Set a policy, or change the one of its name; the same once more changes nothing."""
        body = {
            "pattern": policy.pattern,
            "apply-to": str(policy.apply_to),
            "priority": policy.priority,
            "definition": dict(policy.definition),
        }
        await self._write("PUT", policy.name, body)

    async def delete_policy(self, name: str) -> None:
        """Remove a policy; one that is gone already is no error."""
        await self._write("DELETE", name, None)

    def strange(self, why: str = "") -> ConfigurationError:
        """The error for an answer of something that is no broker."""
        return ConfigurationError(
            f"{self._shown} answers, but not as RabbitMQ's management API does{why}"
        )

    async def _read(self, path: str) -> Any:
        extensions = self._tls.request_extensions()
        async with self._client.stream("GET", self._base + path, extensions=extensions) as response:
            self._check_status(response.status_code)
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    message = f"{self._shown} answers with more than {MAX_ANSWER_BYTES} bytes"
                    raise ConfigurationError(message)
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            return None

    async def _write(self, method: str, name: str, body: dict[str, Any] | None) -> None:
        path = f"/api/policies/{quote(self.vhost, safe='')}/{quote(name, safe='')}"
        response = await self._client.request(
            method, self._base + path, json=body, extensions=self._tls.request_extensions()
        )
        is_gone = method == "DELETE" and response.status_code == HTTPStatus.NOT_FOUND
        if response.is_success or is_gone:
            return
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            raise NotAllowed(
                "this user may not set policies (it needs the tag 'policymaker' or"
                " 'administrator', and rights in the vhost)",
                response.status_code,
            )
        try:
            reason = " ".join(str(response.json()["reason"]).split())
        except (ValueError, RecursionError, KeyError, TypeError):
            reason = f"HTTP status {response.status_code}"
        raise NotAllowed(
            f"the broker refused it: {reason[:MAX_REASON_CHARACTERS]}", response.status_code
        )

    def _check_status(self, status: int) -> None:
        shown = self._shown
        if status == HTTPStatus.OK:
            return
        if status == HTTPStatus.UNAUTHORIZED:
            message = (
                f"the management API at {shown} refused the login: wrong user or password, or the"
                " user has no 'management' tag"
            )
        elif status == HTTPStatus.NOT_FOUND:
            message = f"there is no vhost {self.vhost!r} at {shown}"
        else:
            message = f"the management API at {shown} answered with HTTP status {status}"
        raise NotAllowed(message, status)


@asynccontextmanager
async def open_management(
    management_url: str, vhost: str, *, timeout_s: float = 10.0
) -> AsyncIterator[Management]:
    """The management API at ``http://user:password@host:port``, or at ``https://`` with what
    :mod:`mqkit.tls` knows behind a question mark. Everything within ``timeout_s`` seconds.

    What httpx raises inside comes out as :class:`Management` says.
    """
    import httpx  # slow to load, and an application that publishes never comes here

    base, auth = _split(management_url)
    parts = urlsplit(management_url)
    tls = tls_options(query_parameters(parts.query), parts.scheme == "https")
    shown = redact(management_url)
    with _in_words(shown, timeout_s):
        async with (
            asyncio.timeout(timeout_s),
            # No proxy from the environment: a broker's management port is not on the public web.
            httpx.AsyncClient(
                auth=auth,
                timeout=httpx.Timeout(timeout_s),
                trust_env=False,
                # Without TLS nothing is verified, and loading the certificates takes a while.
                verify=tls.context() if base.startswith("https:") else False,
            ) as client,
        ):
            yield Management(client, base, shown, vhost, tls)


@contextmanager
def _in_words(shown: str, timeout_s: float) -> Iterator[None]:
    import httpx

    try:
        yield
    except (TimeoutError, httpx.TimeoutException) as error:
        if isinstance(error, DeadlineExceeded):
            raise
        message = f"waited {timeout_s:g} s for the management API at {shown}"
        raise DeadlineExceeded(message) from None
    except httpx.ConnectError as error:
        raise Unreachable(
            f"no management API at {shown} ({error}); the port is usually 15672, and RabbitMQ needs"
            " its plugin rabbitmq_management"
        ) from None
    except (httpx.RemoteProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise ConfigurationError(f"{shown} does not speak HTTP ({error}): {NOT_AMQP}") from None
    except httpx.ReadError:
        raise Unreachable(f"{shown} closed the connection unanswered: {NOT_AMQP}") from None
    except httpx.HTTPError as error:
        raise Unreachable(f"the management API at {shown} failed: {error!r}") from None


def _split(management_url: str) -> tuple[str, tuple[str, str]]:
    """The URL without its login, and the login (``guest`` if it has none)."""
    parts = urlsplit(management_url)
    try:
        port = parts.port
    except ValueError:
        port = 0
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigurationError(
            f"the management URL {redact(management_url)!r} is not one"
            " (expected something like http://guest:guest@127.0.0.1:15672)"
        )
    place = parts.netloc.rpartition("@")[2]
    base = urlunsplit((parts.scheme, place, parts.path.rstrip("/").removesuffix("/api"), "", ""))
    username = unquote(parts.username) if parts.username else "guest"
    password = unquote(parts.password) if parts.password else "guest"
    return base, (username, password)
