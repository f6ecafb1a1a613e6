"""A reference broker inside the command, for trying out: it ends with the command, and keeps
nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mqkit.transport.seam import Endpoint
from mqkit_cli.connection import Target, in_vhost, target_of
from mqkit_cli.render import note
from reference_broker.core.broker import DEFAULT_VHOST
from reference_broker.runtime.config import Address, ServerConfig

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Place:
    """The broker that a command's options name, and the vhost that its file names."""

    url: str | None
    management_url: str | None
    vhost: str | None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Target]:
        """The broker that was named; where none was, an embedded one, which is said on stderr."""
        if self.url or self.management_url:
            yield in_vhost(target_of(self.url, self.management_url), self.vhost)
            return
        note("no --url and no MQKIT_URL: trying it out on an embedded broker, which is empty")
        async with embedded_broker(self.vhost or DEFAULT_VHOST) as target:
            yield target


@asynccontextmanager
async def embedded_broker(vhost: str = DEFAULT_VHOST) -> AsyncIterator[Target]:
    """A broker in this event loop, on free ports of this machine, that has ``vhost``."""
    from reference_broker.runtime.server import (
        Server,
    )  # not what the other commands should wait for

    free = Address(LOOPBACK, 0)
    server = Server(ServerConfig(amqp=free, http=free))
    await server.start()
    try:
        if vhost != DEFAULT_VHOST:
            server.broker.add_vhost(vhost)
            server.broker.access.allow_everything("guest", vhost)
        endpoint = Endpoint(host=LOOPBACK, port=server.amqp_port, vhost=vhost)
        yield Target(endpoint, f"http://guest:guest@{LOOPBACK}:{server.http_port}")
    finally:
        await server.stop()
