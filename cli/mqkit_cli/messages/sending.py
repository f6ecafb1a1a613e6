"""A publisher for the length of a command, of the same parts as an application's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from mqkit.middleware import Publishes
from mqkit.pool import ChannelPool, Publisher
from mqkit.settings import Settings
from mqkit.supervision.supervisor import Supervisor
from mqkit.transport.seam import Endpoint
from mqkit_cli.amqp import transport
from mqkit_cli.tracing import traced_publisher

NAME = "mqkit publish"


@asynccontextmanager
async def publisher_to(
    endpoints: Sequence[Endpoint], *, timeout_s: float, deadline_s: float, trace: bool = False
) -> AsyncIterator[Publishes]:
    """Connect, and publish until the end of the block; a connection that is lost is replaced.

    Raises within ``timeout_s`` seconds what makes it impossible: nobody answers, or the login is
    wrong.
    """
    amqp = transport()
    if len(endpoints) == 1:
        # A supervisor would go on trying: right for a service, and not for somebody who waits.
        trial = await amqp.connect(endpoints[0], name=NAME, timeout_s=timeout_s)
        await trial.close()
    settings = Settings.load(connection_name=NAME, connect_timeout_s=timeout_s)
    async with Supervisor(amqp, endpoints, settings) as supervisor:
        await supervisor.wait_ready(timeout_s)
        async with (
            ChannelPool(supervisor.open_publishing_channel, channels_max=1) as pool,
            Publisher(
                pool,
                supervisor,
                max_message_bytes=settings.max_message_bytes,
                lanes=1,
                deadline_s=deadline_s,
            ) as publisher,
        ):
            if trace:
                yield traced_publisher(publisher, lambda: supervisor.endpoint)
            else:
                yield publisher
