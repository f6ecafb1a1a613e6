"""The app of a run: made, used until it is told to end, and looked at after its end."""

from __future__ import annotations

import asyncio
import gc
import sys
from dataclasses import asdict
from itertools import count
from pathlib import Path

import mqkit
from interop.chaos.application import handlers
from interop.chaos.application.callers import Caller
from interop.chaos.application.leftovers import GRACE_S, Possessions
from interop.chaos.application.publishers import Publisher
from interop.chaos.application.starvation import watch_loop
from interop.chaos.application.topology import write_topology
from interop.chaos.facts import FactsFile
from interop.chaos.layout import CALLERS, HEARTBEAT_S, PUBLISHERS, RECONNECT_MAX_S

READY_WITHIN_S = 60.0
PUBLISH_DEADLINE_S = 2.0
"""For retries and parkings: shorter than faults last, so that some are not confirmed in time."""
QUIET_S = 3.0
"""After the last publish: for messages in tiers, and for what waits in queues."""


def make_app(url: str, transport: str, folder: Path, facts: FactsFile) -> mqkit.App:
    """The app, with its handlers."""
    settings = mqkit.Settings.load(
        urls=url,
        transport=transport,
        connection_name="chaos",
        heartbeat_s=HEARTBEAT_S,
        connect_timeout_s=3.0,
        reconnect_first_s=0.1,
        reconnect_max_s=RECONNECT_MAX_S,
        publish_deadline_s=PUBLISH_DEADLINE_S,
    )
    app = mqkit.App(settings=settings, topology=write_topology(folder), drain_timeout="10s")
    handlers.register(app, facts)
    return app


async def run(url: str, transport: str, folder: Path, facts: FactsFile, seed: int) -> None:
    """Run until a line comes on stdin, end the app, and write down what it left behind."""
    lines, stdin = await _stdin()
    app = make_app(url, transport, folder, facts)
    watching = asyncio.create_task(watch_loop(facts))
    await asyncio.sleep(0)
    before = Possessions.now()
    async with app:
        await app.wait_ready(READY_WITHIN_S)
        await _work(app, facts, seed, lines)
    await asyncio.sleep(GRACE_S)
    left = Possessions.now().left_since(before)
    facts.write("left", **left)
    facts.write("stats", **asdict(app.stats))
    del app
    gc.collect()  # what was forgotten says so now, on stderr
    watching.cancel()
    facts.flush()
    print("ended", flush=True)
    await lines.readline()
    stdin.close()


async def _work(app: mqkit.App, facts: FactsFile, seed: int, lines: asyncio.StreamReader) -> None:
    stop = asyncio.Event()
    questions = count(seed % 1_000_000)
    publishers = [Publisher(number, app, facts, seed) for number in range(PUBLISHERS)]
    callers = [Caller(number, app, facts, seed, questions) for number in range(CALLERS)]
    facts.write("started")
    print("ready", flush=True)
    async with asyncio.TaskGroup() as tasks:
        for publisher in publishers:
            tasks.create_task(publisher.run(stop))
        for caller in callers:
            tasks.create_task(caller.run(stop))
        await lines.readline()
        facts.write("stopping")
        stop.set()
    await asyncio.sleep(QUIET_S)


async def _stdin() -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    return reader, transport
