"""Control of the node: pause and resume, draining, memory and disk limits until it ends, and alarms
set by hand.

RabbitMQ's management API has none of it (``rabbitmqctl`` asks the Erlang node), so the paths are
our own; ``mqkit ctl`` speaks to them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from reference_broker.core.alarms import Alarm
from reference_broker.http.request.answer import ApiError, bad_request, not_found
from reference_broker.http.request.authorization import judge_again
from reference_broker.http.request.body import read_object
from reference_broker.http.request.core_input import CoreInputs
from reference_broker.http.request.host import Host, NodeHost
from reference_broker.http.rows.process import resident_bytes

BODY_BYTES_MAX = 64 * 1024

TOLD_S = 30.0
"""Seconds that an answer waits for clients to leave, and for etcd."""

ALARMS = {"memory": Alarm.MEMORY, "disk": Alarm.DISK}
"""Alarms by RabbitMQ's names of the resources that a node may be short of."""


class NodeControl:
    """PUT requests below ``/api/nodes/NODE``; each is answered with 204 when it is done."""

    def __init__(self, host: Host, node_host: NodeHost) -> None:
        self._host = host
        self._node_host = node_host
        self._inputs = CoreInputs(host)
        self._turn = asyncio.Lock()

    async def set_running(self, request: Request) -> Response:
        """``{"running": false}`` pauses: AMQP connections are closed (320), none is accepted."""
        running = await self._flag(request, "running")
        async with self._turn:
            with _listening():
                await (self._node_host.resume() if running else self._node_host.pause())
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def set_draining(self, request: Request) -> Response:
        """``{"draining": true}`` prepares the node to be stopped: AMQP connections are closed
        (320), none is accepted, and other nodes place no queues there. Answered when all of them
        know."""
        draining = await self._flag(request, "draining")
        host = self._node_host
        async with self._turn:
            try:
                async with asyncio.timeout(TOLD_S):
                    with _listening():
                        await (host.drain() if draining else host.revive())
            except TimeoutError:
                raise ApiError(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    "not_told",
                    "the node has done so, and etcd could not be told yet: it will be when it"
                    " answers",
                ) from None
        await self._inputs.defined()
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def set_watermark(self, request: Request) -> Response:
        """Set the memory watermark: ``{"relative": 0.4}`` of the machine's memory, or
        ``{"absolute": bytes}``."""
        document = await self._document(request)
        if "absolute" in document:
            watermark_bytes = _bytes(document["absolute"])
        else:
            relative = document.get("relative")
            if isinstance(relative, bool) or not isinstance(relative, int | float):
                raise bad_request("relative must be a number, or absolute a number of bytes")
            if not 0 <= relative <= 1:
                raise bad_request("relative must lie between 0 and 1")
            watermark_bytes = int(relative * machine_bytes())
        with self._inputs.begin(request) as broker:
            broker.memory.change(watermark_bytes, resident_bytes())
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def set_disk_free_limit(self, request: Request) -> Response:
        """Set the disk free limit: ``{"absolute": bytes}``."""
        document = await self._document(request, "absolute")
        self._node_host.set_disk_free_limit(_bytes(document["absolute"]))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def set_alarms(self, request: Request) -> Response:
        """Set alarms by hand: ``{"memory": true}`` has the alarm on until ``{"memory": false}``,
        whatever is measured; the same for ``disk``."""
        document = await self._document(request)
        wanted = {alarm: document[name] for name, alarm in ALARMS.items() if name in document}
        if not wanted or not all(isinstance(on, bool) for on in wanted.values()):
            raise bad_request("memory or disk must be true or false")
        with self._inputs.begin(request) as broker:
            for alarm, on in wanted.items():
                (broker.alarms.hold if on else broker.alarms.release)(alarm)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _flag(self, request: Request, name: str) -> bool:
        is_on = (await self._document(request, name))[name]
        if not isinstance(is_on, bool):
            raise bad_request(f"{name} must be true or false")
        return is_on

    async def _document(self, request: Request, *required: str) -> dict[str, Any]:
        if request.path_params["node"] != self._host.node().name:
            raise not_found()
        document = await read_object(request, required, bytes_max=BODY_BYTES_MAX)
        judge_again(self._host.broker, request)
        return document


@contextmanager
def _listening() -> Iterator[None]:
    """Raises :exc:`ApiError` 503 for an address that somebody else has."""
    try:
        yield
    except OSError as error:
        raise ApiError(
            HTTPStatus.SERVICE_UNAVAILABLE, "not_listening", f"can't listen: {error}"
        ) from None


def _bytes(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad_request("absolute must be a number of bytes")
    return value


def machine_bytes() -> int:
    """Bytes of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
