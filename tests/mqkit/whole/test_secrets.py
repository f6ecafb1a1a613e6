"""A canary password in the client: transports that fail in every way, and what a traceback with
local variables shows of it, as pytest and crash reporters print them."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mqkit.errors import MqkitError
from mqkit.settings import Settings
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.transport.choice import TRANSPORTS, chosen
from mqkit.url import parse
from mqkit_spark.options import SinkOptions
from reference_broker.runtime.config import Address, ServerConfig, UserConfig
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

CANARY = "canary-in-the-mine"
FREE = Address("127.0.0.1", 0)
FAILURES = {"login": (CANARY + "x", ""), "vhost": (CANARY, "nope")}


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[Server]:
    users = (UserConfig("app", CANARY),)
    server = Server(ServerConfig(amqp=FREE, http=None, users=users))
    await server.start()
    yield server
    await server.stop()


def url_of(server: Server, failure: str) -> str:
    password, vhost = FAILURES[failure]
    return f"amqp://app:{password}@127.0.0.1:{server.amqp_port}/{vhost}"


def leaks(error: BaseException) -> list[str]:
    """Places where the traceback and our functions' variables show the canary. (A test's own
    variables don't count.)"""
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    found = []
    for part in _chain(report):
        found += [f"text: {line}" for line in part.format_exception_only() if CANARY in line]
        for frame in part.stack:
            found += [
                f"{Path(frame.filename).name}: {frame.name}: {name}"
                for name, shown in (frame.locals or {}).items()
                if CANARY in shown and not frame.filename.endswith("test_secrets.py")
            ]
    return found


def _chain(report: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    part: traceback.TracebackException | None = report
    while part is not None:
        yield part
        part = part.__cause__ or (None if part.__suppress_context__ else part.__context__)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("failure", FAILURES)
async def test_a_connection_that_fails(
    server: Server, failure: str, transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint = parse(url_of(server, failure))
    with pytest.raises(MqkitError) as asynchronous:
        await chosen(transport).connect(endpoint, name="canary", timeout_s=20)
    assert leaks(asynchronous.value) == []
    assert CANARY not in caplog.text


@pytest.mark.parametrize("choice", BlockingChoice)
@pytest.mark.parametrize("failure", FAILURES)
async def test_a_blocking_connection_that_fails(
    server: Server, failure: str, choice: BlockingChoice, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    connect = choice.transport().connect
    with pytest.raises(MqkitError) as synchronous:
        await asyncio.to_thread(connect, parse(url_of(server, failure)), name="t", timeout_s=20)
    assert leaks(synchronous.value) == []
    assert CANARY not in caplog.text


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_connection_that_opens(
    server: Server, transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint = parse(f"amqp://app:{CANARY}@127.0.0.1:{server.amqp_port}/")
    connection = await chosen(transport).connect(endpoint, name="canary", timeout_s=20)
    await connection.close()
    assert CANARY not in caplog.text
    assert CANARY not in f"{endpoint!r} {endpoint} {connection!r}"


def test_options_and_settings_that_can_not_be() -> None:
    url = f"amqp://app:{CANARY}@127.0.0.1/"
    for wrong in ({"channels_max": 1}, {"heartbeat_s": "soon"}, {"urls": f"http:{url}"}):
        with pytest.raises(MqkitError) as refused:
            Settings.load(**{"urls": url, **wrong})
        assert leaks(refused.value) == []
    assert CANARY not in repr(Settings.load(urls=url))
    assert CANARY not in repr(SinkOptions(url=url))
    with pytest.raises(MqkitError) as unparsed:
        SinkOptions(url=f"amqp://app:{CANARY}@/")
    assert CANARY not in str(unparsed.value)
