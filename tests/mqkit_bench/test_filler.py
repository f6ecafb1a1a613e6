"""mqkit_bench.filler: exactly what was asked for is sent, confirmed, and in the queues."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing

import pytest

from mqkit import wire
from mqkit.wire import methods
from mqkit_bench import filler as filler_module
from mqkit_bench.contestant import Contestant, Counts
from mqkit_bench.filler import Filler, Pace, Stalled, fill, publisher
from mqkit_bench.message import publish_frames
from mqkit_bench.ring import Ring
from mqkit_bench.session import Session


def declare(contestant: Contestant, *queues: str) -> None:
    with closing(Session(contestant.address)) as control:
        for queue in queues:
            control.declare(queue)


def ready(contestant: Contestant, queue: str) -> int:
    with closing(Session(contestant.address)) as control:
        return control.ready(queue)


def test_queues_are_filled_in_turn(contestant: Contestant, unique: Callable[[str], str]) -> None:
    queues = [unique(f"q{number}") for number in range(3)]
    declare(contestant, *queues)
    pace = fill(contestant, Ring.round_robin(queues, 100), 10_000, lambda _: None)
    assert pace.marks[0][0] == 0
    assert pace.marks[-1][0] == 10_000
    assert [ready(contestant, queue) for queue in queues] == [3334, 3333, 3333]
    contestant.expect(queues, Counts(10_000, 0))


def test_the_window_is_kept(contestant: Contestant, unique: Callable[[str], str]) -> None:
    queue = unique("q")
    declare(contestant, queue)
    with closing(
        Filler(publisher(contestant.address), Ring.round_robin([queue], 0), window=7)
    ) as filler:
        ahead = []
        while filler.confirmed < 100:
            filler.step(100, 100)
            ahead.append(filler.sent - filler.confirmed)
    assert max(ahead) <= 7
    assert ready(contestant, queue) == 100


def test_a_pace_ends_with_whole_messages() -> None:
    """The peer reads nothing until the end, so the last message is half sent by then."""
    size = len(publish_frames("q", 50_000))
    ended = threading.Event()
    ours, peer = socket.socketpair()
    with closing(Filler(ours, Ring.round_robin(["q"], 50_000))) as filler, peer:
        taken: list[int] = []
        reader = threading.Thread(target=confirm_all, args=(peer, size, ended, taken))
        reader.start()
        turns = iter(range(5))

        def going_on() -> bool:
            if next(turns, None) is None:
                ended.set()
            return not ended.is_set()

        filler.keep_pace(1_000_000, going_on)
        assert filler.sent == filler.confirmed > 0
        filler.close()
        reader.join()
    assert taken == [filler.sent * size]


def confirm_all(peer: socket.socket, size: int, ended: threading.Event, taken: list[int]) -> None:
    """Once ``ended``: read to the end of the stream, and confirm every whole message."""
    ended.wait()
    received = 0
    while data := peer.recv(1 << 20):
        before, received = received, received + len(data)
        if received // size > before // size:
            ack = methods.BasicAck(received // size, multiple=True)
            peer.sendall(wire.method_frame(1, ack))
    taken.append(received)


def test_a_pace_is_not_overtaken(contestant: Contestant, unique: Callable[[str], str]) -> None:
    queue = unique("q")
    declare(contestant, queue)
    turns = iter(range(20))
    started = time.perf_counter()
    with closing(Filler(publisher(contestant.address), Ring.round_robin([queue], 10))) as filler:
        filler.keep_pace(100, lambda: next(turns, None) is not None)
        assert filler.sent <= 100 * (time.perf_counter() - started)


def test_a_broker_that_confirms_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filler_module, "STALL_S", 0.0)
    ours, silent = socket.socketpair()
    filler = Filler(ours, Ring.round_robin(["q"], 10))
    with closing(filler), silent, pytest.raises(Stalled, match="10 messages sent, 0 confirmed"):
        for _ in range(3):
            filler.step(10, 0)


def test_rates_are_those_of_a_window() -> None:
    pace = Pace([(0, 0.0), (1000, 1.0), (3000, 2.0), (3500, 4.0)])
    assert pace.rate(0, 1000) == 1000
    assert pace.rate(1000, 3000) == 2000
    assert pace.rate(2000, 3500) == 2500 / 3
    assert pace.rate(0, 3500) == 875
    assert pace.slowest(1000) == 1000
    assert pace.slowest(500) == 250
