"""Faults are done, ended, and written down, each kind by a way of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from interop.chaos.broker import (
    DISK_LIMIT_ALARMING_BYTES,
    DISK_LIMIT_BYTES,
    MEMORY_FRACTION,
    Broker,
)
from interop.chaos.facts import FactsFile, read
from interop.chaos.injector import Injector
from interop.chaos.plan import Fault, Kind
from interop.chaos.proxy import Proxy
from mqkit_bench.contestant import Contestant
from mqkit_bench.session import Address


@dataclass
class FakeServer:
    """A broker's process that notes what is done to it; each start is on another port."""

    done: list[str] = field(default_factory=list)
    port: int = 1

    @property
    def contestant(self) -> Contestant:
        return Contestant("fake", Address("127.0.0.1", self.port), "", 0, None)

    def stop(self) -> None:
        self.done.append("stop")

    def kill(self) -> None:
        self.done.append("kill")

    def start(self) -> None:
        self.done.append("start")
        self.port += 1

    def set_memory(self, fraction: float) -> None:
        self.done.append(f"memory {fraction}")

    def set_disk(self, limit_bytes: int) -> None:
        self.done.append(f"disk {limit_bytes}")


@dataclass
class Scene:
    """An injector before a broker that is none."""

    server: FakeServer
    proxy: Proxy
    injector: Injector
    path: Path


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    server = FakeServer()
    broker = Broker(server, server)
    path = tmp_path / "facts"
    with FactsFile(path) as facts:
        proxy = Proxy(broker.address, facts)
        yield Scene(server, proxy, Injector(broker, proxy, facts), path)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("kind", "done"),
    [
        (Kind.KILL, ["kill", "start"]),
        (Kind.TERM, ["stop", "start"]),
        (Kind.MEMORY_ALARM, ["memory 0.0", f"memory {MEMORY_FRACTION}"]),
        (Kind.DISK_ALARM, [f"disk {DISK_LIMIT_ALARMING_BYTES}", f"disk {DISK_LIMIT_BYTES}"]),
    ],
)
async def test_a_fault_of_the_broker_is_undone_at_its_end(
    scene: Scene, kind: Kind, done: list[str]
) -> None:
    await scene.injector.inject(0, Fault(kind, 0.0))
    assert scene.server.done == done


@pytest.mark.anyio
async def test_after_a_restart_the_proxy_leads_to_the_new_address(scene: Scene) -> None:
    await scene.injector.inject(0, Fault(Kind.KILL, 0.0))
    assert scene.proxy.broker == ("127.0.0.1", 2)


@pytest.mark.anyio
async def test_each_fault_of_a_link_has_a_way_and_is_written_down(scene: Scene) -> None:
    links = (
        Kind.CUT,
        Kind.OUTAGE,
        Kind.HALF_CLOSED_TO_CLIENT,
        Kind.HALF_CLOSED_TO_BROKER,
        Kind.STALL,
        Kind.SHORT_STALL,
        Kind.STALL_TO_CLIENT,
        Kind.STALL_TO_BROKER,
        Kind.TRICKLE,
        Kind.HELD_CONFIRMS,
    )
    for number, kind in enumerate(links):
        await scene.injector.inject(number, Fault(kind, 0.0))
    told = [(fact["phase"], fact["number"], fact["kind"]) for fact in read(scene.path)]
    assert told == [
        (phase, number, kind) for number, kind in enumerate(links) for phase in ("begin", "end")
    ]


def test_every_kind_has_a_way(scene: Scene) -> None:
    assert scene.injector.kinds == set(Kind)
