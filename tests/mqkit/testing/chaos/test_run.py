"""A command behind a link that breaks."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mqkit.testing import reference_broker
from mqkit.testing.chaos.plan import Fault, plan
from mqkit.testing.chaos.run import Options, run, send_signal
from mqkit.testing.clock import FakeClock
from mqkit.testing.in_process.vhost import ReferenceBroker

pytestmark = pytest.mark.anyio

CONNECTS = """
import os, sys
import pika

with pika.BlockingConnection(pika.URLParameters(os.environ["MQKIT_URL"])) as connection:
    channel = connection.channel()
    channel.confirm_delivery()
    channel.queue_declare("q")
    open(sys.argv[1], "w").close()
    try:
        while True:
            channel.basic_publish("", "q", b"x")
    except pika.exceptions.AMQPConnectionError:
        os._exit(7)
"""
PAUSES = "import signal; signal.pause()"
LOOKS = """
import os, sys
from urllib.parse import urlsplit

port = urlsplit(os.environ["MQKIT_URL"]).port
sys.exit(0 if "MQKIT_URLS" not in os.environ and port != int(sys.argv[1]) else 1)
"""


@pytest.fixture
def broker() -> Iterator[ReferenceBroker]:
    with reference_broker() as broker:
        yield broker


def seed_of(fault: Fault) -> int:
    """The first seed that begins with ``fault``."""
    return next(seed for seed in count() if next(plan(seed)).fault is fault)


async def through(clock: FakeClock, running: asyncio.Task[int]) -> int:
    """Move time on whenever somebody waits for it, until the run is over."""
    while not running.done():
        waiting = asyncio.create_task(clock.until_waiting(1))
        await asyncio.wait((waiting, running), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        clock.advance(0.1)
        await asyncio.sleep(0)
    return running.result()


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.LOST_CONFIRM, Fault.REFUSE])
async def test_a_fault_meets_the_command(
    broker: ReferenceBroker, tmp_path: Path, fault: Fault
) -> None:
    told: list[str] = []
    clock = FakeClock()
    os.mkfifo(tmp_path / "connected")
    options = Options(broker.url, seed_of(fault), seconds=60, quiet_s=1)
    command = [sys.executable, "-c", CONNECTS, str(tmp_path / "connected")]
    running = asyncio.create_task(run(command, options, told.append, clock))
    await asyncio.to_thread((tmp_path / "connected").read_text)
    assert await through(clock, running) == 7
    assert fault in told[0]


async def test_a_command_that_goes_on_is_ended_after_a_quiet_time(broker: ReferenceBroker) -> None:
    told: list[str] = []
    clock = FakeClock()
    options = Options(broker.url, 7, seconds=30, quiet_s=10)
    running = asyncio.create_task(run([sys.executable, "-c", PAUSES], options, told.append, clock))
    assert await through(clock, running) == -signal.SIGTERM
    assert len(told) > 8
    assert told[-2].endswith("no more faults, for 10 s")
    assert told[-1] == "the end: SIGTERM"


async def test_the_command_finds_the_proxy_alone(
    broker: ReferenceBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQKIT_URLS", broker.url)
    options = Options(broker.url, 7, seconds=60, quiet_s=1)
    command = [sys.executable, "-c", LOOKS, str(urlsplit(broker.url).port)]
    assert await run(command, options, lambda _: None) == 0


async def test_a_signal_leaves_the_exit_code_to_who_waits_for_it() -> None:
    for _ in range(10):
        process = await asyncio.create_subprocess_exec("/bin/sh", "-c", "exit 7")
        ended = asyncio.create_task(process.wait())
        while not ended.done():
            send_signal(process, signal.SIGCONT)
            await asyncio.sleep(0)
        assert ended.result() == 7
