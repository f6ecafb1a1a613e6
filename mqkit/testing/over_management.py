"""A virtual host for one test on a broker that runs elsewhere, made over its management API."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, urlsplit

import httpx

from mqkit.errors import ConfigurationError, MqkitError, Unreachable
from mqkit.testing.broker import Broker
from mqkit.testing.topology_text import text_of
from mqkit.topology.snapshot import take_snapshot
from mqkit.url import parse, redact

if TYPE_CHECKING:
    from mqkit.testing.in_process.vhost_faults import VhostFaults
    from mqkit.testing.virtual_time.clock import VirtualClock

MANAGEMENT_PORT = 15672
"""RabbitMQ's."""

TIMEOUT_S = 30.0
"""RabbitMQ takes a second for a virtual host, and more where others make theirs."""


class NeedsReferenceBroker(MqkitError):
    """A test asks for what only the broker in its own process has: skip it on others."""


def refuse(what: str) -> NoReturn:
    """Raises :exc:`NeedsReferenceBroker`."""
    raise NeedsReferenceBroker(what)


class BrokerElsewhere(Broker):
    """A virtual host of another process' broker. Made by :func:`broker_at`."""

    def __init__(self, url: str, management_url: str, refuse: Callable[[str], NoReturn]) -> None:
        super().__init__(url)
        self._management_url = management_url
        self._refuse = refuse

    @property
    def clock(self) -> VirtualClock:
        self._refuse("a clock that can be moved")

    @property
    def faults(self) -> VhostFaults:
        self._refuse("faults")

    def topology(self) -> str:
        vhost = parse(self.url).vhost
        with ThreadPoolExecutor(1) as thread:  # the caller's may have an event loop
            taking = thread.submit(asyncio.run, take_snapshot(self._management_url, vhost))
            return text_of(taking.result())

    def record(self, path: str | Path) -> NoReturn:
        self._refuse("a recorded scenario")

    async def replay(self, path: str | Path) -> NoReturn:
        self._refuse("a recorded scenario")

    @property
    def clock_if_any(self) -> None:
        return None


def management_url_of(url: str) -> str:
    """The management API that belongs to an AMQP URL where nobody says another: the same host and
    login, on RabbitMQ's own port."""
    host = parse(url).host
    place = f"http://{f'[{host}]' if ':' in host else host}:{MANAGEMENT_PORT}"
    return with_login_of(url, place)


def with_login_of(url: str, management_url: str) -> str:
    """``management_url``, where it says no login, with that of the AMQP URL."""
    parts = urlsplit(management_url)
    if "@" in parts.netloc:
        return management_url
    userinfo = urlsplit(url).netloc.rpartition("@")[0] or "guest:guest"
    return parts._replace(netloc=f"{userinfo}@{parts.netloc}").geturl()


@contextmanager
def broker_at(
    url: str, management_url: str | None = None, refuse: Callable[[str], NoReturn] = refuse
) -> Iterator[BrokerElsewhere]:
    """An empty virtual host on the broker at ``url``, for the time of the block; then it is
    deleted. A ``management_url`` without a login has that of ``url``. ``refuse`` is called with
    what a test asks for and this broker has not; it raises.

    Raises :exc:`~mqkit.errors.Unreachable` where no management API answers, and
    :exc:`~mqkit.errors.ConfigurationError` where it refuses.
    """
    endpoint = parse(url)
    base = with_login_of(url, management_url) if management_url else management_url_of(url)
    vhost = f"mqkit-test-{secrets.token_hex(6)}"
    with httpx.Client(base_url=base, timeout=TIMEOUT_S) as client:
        path = f"/api/vhosts/{vhost}"
        _request(client, base, "PUT", path, {})
        try:
            user = quote(endpoint.credentials.username, safe="")
            everything = {"configure": ".*", "write": ".*", "read": ".*"}
            _request(client, base, "PUT", f"/api/permissions/{vhost}/{user}", everything)
            place = urlsplit(url)._replace(path=f"/{vhost}").geturl()
            broker = BrokerElsewhere(place, base, refuse)
            try:
                yield broker
            finally:
                broker.close()
        finally:
            _request(client, base, "DELETE", path, None)


def _request(
    client: httpx.Client, base: str, method: str, path: str, body: dict[str, str] | None
) -> None:
    try:
        answer = client.request(method, path, json=body)
    except httpx.HTTPError as error:
        raise Unreachable(
            f"each test needs a virtual host of its own, which the management API makes, and"
            f" {redact(base)} does not answer ({type(error).__name__}): say where it is"
        ) from None
    if answer.is_error:
        raise ConfigurationError(
            f"each test needs a virtual host of its own, and {redact(base)} does not make or delete"
            f" one: {answer.status_code} to {method} {path} (the user must be an administrator)"
        )
