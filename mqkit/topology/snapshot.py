"""A snapshot of a broker's objects, read over its management HTTP API.

The paths and names are RabbitMQ's, so that one client reads RabbitMQ and the reference broker.
Left out is what no file declares: the default exchange and its bindings, and everything named
``amq.``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.errors import ConfigurationError, DeadlineExceeded, Unreachable
from mqkit.tls import TlsOptions, query_parameters, tls_options
from mqkit.url import redact

if TYPE_CHECKING:
    import httpx

MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""One answer of the management API; a hundred thousand queues are some 100 MB."""

NOT_AMQP = "the management URL is not the AMQP one; its port is usually 15672"
OBJECTS = ("exchanges", "queues", "bindings")
_Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LiveQueue:
    """A queue of the broker; ``None`` for a count that the broker has not gathered yet."""

    queue: Queue
    messages: int | None = None
    consumers: int | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The objects of one vhost, in the order of the broker's answers. ``bound_besides`` are
    exchanges with a binding to a queue that the broker has named."""

    vhost: str
    exchanges: tuple[Exchange, ...] = ()
    queues: tuple[LiveQueue, ...] = ()
    bindings: tuple[Binding, ...] = ()
    bound_besides: frozenset[str] = frozenset()

    @property
    def declarations(self) -> tuple[Declaration, ...]:
        """The declarations of all objects: exchanges, queues, bindings."""
        return (*self.exchanges, *(live.queue for live in self.queues), *self.bindings)

    @classmethod
    def of(cls, vhost: str, declarations: tuple[Declaration, ...]) -> Snapshot:
        """A broker that has exactly ``declarations``, all queues empty."""
        return cls(
            vhost,
            tuple(item for item in declarations if isinstance(item, Exchange)),
            tuple(LiveQueue(item, 0, 0) for item in declarations if isinstance(item, Queue)),
            tuple(item for item in declarations if isinstance(item, Binding)),
        )


async def take_snapshot(management_url: str, vhost: str, *, timeout_s: float = 10.0) -> Snapshot:
    """Read the topology of ``vhost`` from ``http://user:password@host:port``, or from ``https://``
    with what :mod:`mqkit.tls` knows behind a question mark.

    All of it within ``timeout_s`` seconds, or :exc:`~mqkit.errors.DeadlineExceeded`. Raises
    :exc:`~mqkit.errors.Unreachable` when nobody answers, and
    :exc:`~mqkit.errors.ConfigurationError` for a wrong URL, login or vhost. Messages never show
    the password.
    """
    import httpx  # slow to load, and an application that publishes never comes here

    base, auth = _split(management_url)
    parts = urlsplit(management_url)
    tls = tls_options(query_parameters(parts.query), parts.scheme == "https")
    shown = redact(management_url)
    limits = httpx.Timeout(timeout_s)
    # No proxy from the environment: a broker's management port is not on the public web.
    try:
        async with (
            asyncio.timeout(timeout_s),
            httpx.AsyncClient(
                auth=auth,
                timeout=limits,
                trust_env=False,
                verify=tls.context() if base.startswith("https:") else True,
            ) as client,
        ):
            rows = {
                kind: await _rows(
                    client, f"{base}/api/{kind}/{quote(vhost, safe='')}", shown, vhost, tls
                )
                for kind in OBJECTS
            }
    except (TimeoutError, httpx.TimeoutException):
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
    try:
        return _snapshot(vhost, rows)
    except (KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{shown} answers, but not as RabbitMQ's management API does ({error!r})"
        ) from None


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


async def _rows(
    client: httpx.AsyncClient, url: str, shown: str, vhost: str, tls: TlsOptions
) -> list[_Row]:
    async with client.stream("GET", url, extensions=tls.request_extensions()) as response:
        _check_status(response.status_code, shown, vhost)
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_ANSWER_BYTES:
                raise ConfigurationError(f"{shown} answers with more than {MAX_ANSWER_BYTES} bytes")
    try:
        rows = json.loads(body)
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ConfigurationError(f"{shown} answers, but not as RabbitMQ's management API does")
    return rows


def _check_status(status: int, shown: str, vhost: str) -> None:
    if status == HTTPStatus.OK:
        return
    if status == HTTPStatus.UNAUTHORIZED:
        raise ConfigurationError(
            f"the management API at {shown} refused the login: wrong user or password, or the user"
            " has no 'management' tag"
        )
    if status == HTTPStatus.NOT_FOUND:
        raise ConfigurationError(f"there is no vhost {vhost!r} at {shown}")
    raise ConfigurationError(f"the management API at {shown} answered with HTTP status {status}")


def _snapshot(vhost: str, rows: Mapping[str, list[_Row]]) -> Snapshot:
    return Snapshot(
        vhost,
        tuple(_exchange(row) for row in rows["exchanges"] if _is_declared(row["name"])),
        tuple(_queue(row) for row in rows["queues"] if _is_declared(row["name"])),
        tuple(
            _binding(row)
            for row in rows["bindings"]
            if row["source"] and _is_declared(row["destination"])
        ),
        frozenset(row["source"] for row in rows["bindings"] if not _is_declared(row["destination"]))
        - {""},
    )


def _is_declared(name: str) -> bool:
    return bool(name) and not name.startswith("amq.")


def _exchange(row: _Row) -> Exchange:
    return Exchange(
        row["name"],
        type=row["type"],
        durable=row["durable"],
        auto_delete=row["auto_delete"],
        internal=row["internal"],
        arguments=row["arguments"],
    )


def _queue(row: _Row) -> LiveQueue:
    queue = Queue(
        row["name"],
        durable=row["durable"],
        exclusive=row.get("exclusive", False),
        auto_delete=row["auto_delete"],
        arguments=row["arguments"],
    )
    # A queue that is a few seconds old has no counts yet: RabbitMQ gathers them every 5 seconds.
    return LiveQueue(queue, row.get("messages"), row.get("consumers"))


def _binding(row: _Row) -> Binding:
    return Binding(
        row["source"],
        row["destination"],
        key=row["routing_key"],
        to_exchange=row["destination_type"] == "exchange",
        arguments=row["arguments"],
    )
