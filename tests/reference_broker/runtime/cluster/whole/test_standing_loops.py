"""Two nodes, each with a loop on a thread of its own: loops that stand, and cables that are cut one
way, as their peers see them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.preface import PREFACE_BYTES, decode_preface
from reference_broker.runtime.net.address import Address
from reference_broker.runtime.process.boot_clock import boot_clock
from reference_broker.testing.socket_node import SocketNode

pytestmark = [pytest.mark.live, pytest.mark.slow]

TIMEOUT_S = 30


class Elsewhere:
    """A loop that runs on a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def run(self, act: Callable[[], object]) -> None:
        """Have the loop call ``act``, and wait for its end."""

        async def acting() -> None:
            ended = act()
            if asyncio.iscoroutine(ended):
                await ended

        asyncio.run_coroutine_threadsafe(acting(), self.loop).result(TIMEOUT_S)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class OneWay:
    """A proxy whose cables can be cut one way, for the purposes that are named; nobody is told."""

    def __init__(self) -> None:
        self.lost: set[tuple[Purpose, bool]] = set()
        """Purposes, and True for the way to the node that is dialled."""
        self.to = Address("", 0)
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, to: str) -> str:
        self.to = Address.parse(to)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    async def _serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, on = await asyncio.open_connection(*self.to)
        preface = await near.readexactly(PREFACE_BYTES)
        on.write(preface)
        purpose = decode_preface(preface)
        ways = ((near, on, True), (far, back, False))
        await asyncio.gather(*(self._carry(purpose, *way) for way in ways))

    async def _carry(
        self,
        purpose: Purpose,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        forth: bool,
    ) -> None:
        try:
            while octets := await reader.read(65_536):
                if (purpose, forth) not in self.lost:
                    writer.write(octets)
        except ConnectionError:
            pass
        if (purpose, forth) not in self.lost:
            writer.close()

    async def close(self) -> None:
        self._server.close()
        await asyncio.sleep(0)


class Pair:
    """Node a in one loop, node b in another, and the proxy between them."""

    def __init__(self) -> None:
        self.a_loop, self.b_loop = Elsewhere(), Elsewhere()
        self.proxy = OneWay()
        self.a_loop.run(self._make_a)
        self.b_loop.run(self._make_b)

    def _make_a(self) -> None:
        self.a = SocketNode("a", 1)
        self.a.begin()

    def _make_b(self) -> None:
        self.b = SocketNode("b", 2)
        self.b_address = self.b.begin()

    async def _meet(self) -> None:
        self.a.see("b", await self.proxy.listen(self.b_address))

    def linked(self) -> None:
        self.a_loop.run(self._meet)
        self.until(lambda: bool(self.a.mesh.last_heard) and bool(self.b.mesh.last_heard))

    @staticmethod
    def until(holds: Callable[[], bool]) -> float:
        """Wait, and return when it held."""
        end = time.monotonic() + TIMEOUT_S
        while not holds():
            assert time.monotonic() < end
            threading.Event().wait(0.01)  # of another thread, and nobody tells it
        return time.monotonic()

    def close(self) -> None:
        self.a_loop.run(self.a.close)
        self.b_loop.run(self.b.close)
        self.a_loop.run(self.proxy.close)
        self.a_loop.close()
        self.b_loop.close()


@contextmanager
def _linked() -> Iterator[Pair]:
    pair = Pair()
    try:
        pair.linked()
        yield pair
    finally:
        pair.close()


def _wait(seconds: float) -> None:
    """Stand as one that waits for a disk."""
    threading.Event().wait(seconds)


def _work(seconds: float) -> None:
    """Stand as a big deletion does: the interpreter is busy."""
    end = time.monotonic() + seconds
    numbers = list(range(1_000))
    while time.monotonic() < end:
        numbers = [number + 1 for number in numbers]


@pytest.mark.parametrize("stand", [_wait, _work])
def test_a_loop_that_stands_for_2_5_s_is_not_taken_for_dead(stand: Callable[[float], None]) -> None:
    with _linked() as pair:
        links = (pair.a.mesh.links["b"], pair.b.mesh.links["a"])
        pair.b_loop.run(lambda: stand(2.5))
        after = boot_clock()
        pair.until(lambda: min(link.heartbeats.heard_at for link in links) > after)
        assert (pair.a.mesh.links.get("b"), pair.b.mesh.links.get("a")) == links
        assert pair.a.unheard_of == pair.b.unheard_of == []


def test_a_loop_that_hangs_is_taken_for_dead_after_3_s_and_the_time_of_silence() -> None:
    with _linked() as pair:
        began = time.monotonic()
        pair.b_loop.loop.call_soon_threadsafe(_wait, 7)
        down = pair.until(lambda: pair.a.unheard_of == ["b"])
        assert 4 <= down - began < 6
        assert "its heartbeats: nothing came for 2 s" in pair.a.reports[-1]
        pair.until(lambda: pair.b.unheard_of == ["a"])
        assert time.monotonic() - began >= 7


@pytest.mark.parametrize("forth", [True, False])
@pytest.mark.parametrize("purposes", [tuple(Purpose), (Purpose.HEARTBEATS,)])
def test_loss_one_way_is_noticed_at_both_ends_within_3_s(
    purposes: tuple[Purpose, ...], forth: bool
) -> None:
    with _linked() as pair:
        pair.until(lambda: pair.a.mesh.last_heard["b"].apart_ms is not None)
        began = time.monotonic()
        pair.proxy.lost |= {(purpose, forth) for purpose in purposes}
        down = pair.until(lambda: bool(pair.a.unheard_of) and bool(pair.b.unheard_of))
        assert 1 < down - began < 3


def test_a_link_that_is_stuck_by_itself_is_noticed() -> None:
    with _linked() as pair:
        began = time.monotonic()
        pair.proxy.lost.add((Purpose.LINK, True))
        down = pair.until(lambda: bool(pair.a.unheard_of) and bool(pair.b.unheard_of))
        assert 4 < down - began < 7
        assert "is down: nothing came for 6 s" in pair.b.reports[-1]
