"""``startup``: how long an import takes, and a broker in the process that asks for it.

Each is measured in a new interpreter, in turns. The warm-up round writes the byte code.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from multiprocessing.connection import Connection
from statistics import median

import typer

from mqkit_bench.report import JsonFile, markdown, say, write_json
from mqkit_bench.worker import Worker

STATEMENTS = (
    "import mqkit",
    "from mqkit import App",
    "import aio_pika",
    "import pika",
    "from kombu import Connection, Consumer, Producer",
    "from faststream.rabbit import RabbitBroker",
)
"""The imports that a program begins with; the first one loads nothing until it is used."""
BROKER_IMPORT = "from reference_broker.runtime.server import Server"
BROKER_FIRST = "a broker in this process, listening"
BROKER_AGAIN = "another broker in the same process"
HEADER = ("what", "wall (min-max)", "CPU (min-max)", "modules")
IMPORT_TIMEOUT_S = 60.0
_PROGRAM = """
import json, sys, time
loaded, cpu, wall = len(sys.modules), time.process_time(), time.perf_counter()
exec(sys.argv[1])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(json.dumps([wall, cpu, len(sys.modules) - loaded]))
"""


@dataclass(frozen=True, slots=True)
class Start:
    """One time: wall and CPU seconds, and how many modules it loaded."""

    wall_s: float
    cpu_s: float
    modules: int


@dataclass(frozen=True, slots=True)
class Startup:
    """All the times of one thing, in order; none where it is not installed."""

    what: str
    starts: list[Start] = field(default_factory=list)


def import_once(statement: str) -> Start:
    """The time of one import, in an interpreter of its own. Raises :exc:`RuntimeError` when it
    fails there."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, statement],
        capture_output=True,
        text=True,
        timeout=IMPORT_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{statement}: {done.stderr.strip().splitlines()[-1]}")
    return Start(*json.loads(done.stdout.splitlines()[-1]))


def start_brokers(pipe: Connection) -> None:
    """A worker's task: reports the :class:`Start` of the import and of two brokers, by what they
    are. The brokers keep nothing, and have AMQP and HTTP on free ports of this machine."""
    loaded, began = len(sys.modules), _now()
    from reference_broker.runtime.config import Address, ServerConfig
    from reference_broker.runtime.server import Server

    starts = {BROKER_IMPORT: _since(began, loaded)}

    async def start(what: str) -> None:
        loaded, began = len(sys.modules), _now()
        free = Address("127.0.0.1", 0)
        server = Server(ServerConfig(amqp=free, http=free))
        await server.start()
        starts[what] = _since(began, loaded)
        await server.stop()

    asyncio.run(start(BROKER_FIRST))
    asyncio.run(start(BROKER_AGAIN))
    pipe.send(starts)


def compare(rounds: int) -> list[Startup]:
    """A warm-up round that does not count, then ``rounds`` alternating ones."""
    imports = [Startup(statement) for statement in STATEMENTS]
    brokers = [Startup(what) for what in (BROKER_IMPORT, BROKER_FIRST, BROKER_AGAIN)]
    installed = [each for each in imports if find_spec(_package(each.what)) is not None]
    for number in range(rounds + 1):
        say(f"round {number}" if number else "warm-up")
        starts = {each.what: import_once(each.what) for each in installed}
        with Worker(start_brokers) as worker:
            starts |= worker.report()
        if number:
            for each in (*installed, *brokers):
                each.starts.append(starts[each.what])
    return [*imports, *brokers]


def table(startups: Sequence[Startup]) -> str:
    """The medians as a Markdown table."""
    rows = []
    for each in startups:
        if not each.starts:
            rows.append((f"`{each.what}`", "not installed", "-", "-"))
            continue
        quoted = f"`{each.what}`" if "import" in each.what else each.what
        rows.append(
            (
                quoted,
                _milliseconds([start.wall_s for start in each.starts]),
                _milliseconds([start.cpu_s for start in each.starts]),
                f"{median(start.modules for start in each.starts):.0f}",
            )
        )
    return markdown(HEADER, rows)


def startup(
    rounds: int = typer.Option(9, min=1, help="Rounds that count, after one that does not."),
    json_file: JsonFile = None,
) -> None:
    """How long `import mqkit` takes beside other clients, and a broker in the test process."""
    startups = compare(rounds)
    print(f"Each in a new interpreter, {rounds} alternating rounds, medians.\n")
    print(table(startups))
    write_json(json_file, startups)


def _package(statement: str) -> str:
    return statement.split()[1].partition(".")[0]


def _milliseconds(seconds: Sequence[float]) -> str:
    low, high = 1000 * min(seconds), 1000 * max(seconds)
    return f"{1000 * median(seconds):.0f} ms ({low:.0f}-{high:.0f})"


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(began: tuple[float, float], loaded: int) -> Start:
    wall_s, cpu_s = _now()
    return Start(wall_s - began[0], cpu_s - began[1], len(sys.modules) - loaded)
