"""For every confirm, the fdatasync that covers its record returned before the ack reached
the output buffer.

A kill doesn't show that: the page cache survives it. So the disk records what each sync covered,
and each ack of the broker is held against that at the end of the very input that made it.
"""

from __future__ import annotations

import contextlib
import re
from random import Random

import pytest

from mqkit.wire import ContentAssembler, FrameParser
from mqkit.wire.methods import BasicAck
from reference_broker.core.channel.confirms import ConfirmLedger, Promise
from reference_broker.simulation.clients.client import Session
from reference_broker.simulation.disk.medium import Crash
from reference_broker.simulation.disk.power import PoweredDisk
from reference_broker.simulation.events.events import Message
from reference_broker.simulation.events.marking import NUMBER_DIGITS
from reference_broker.simulation.machine.network import Link
from reference_broker.simulation.plan.scenario import draw, with_features
from reference_broker.simulation.watch.checkers import Violation
from reference_broker.simulation.world import World
from reference_broker.store import Operation
from reference_broker.store.disk.ports import CreateFile, Sync, SyncDirectory, Write

SEEDS = range(8)
DURATION_US = 15_000_000

_NUMBER = re.compile(rb"(\d{%d})(?!\d)" % NUMBER_DIGITS)


class RecordingDisk(PoweredDisk):
    """Knows which messages are on the medium for certain: written, their file synced, and its name
    too. The header of each has its number, and its body begins with it."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._written: dict[str, list[int]] = {}
        self._synced_in: dict[int, str] = {}
        self._unnamed: set[str] = set()

    def covers(self, number: int) -> bool:
        file = self._synced_in.get(number)
        return file is not None and file not in self._unnamed

    def perform(self, operation: Operation) -> None:
        super().perform(operation)
        match operation:
            case CreateFile(file, _):
                self._unnamed.add(file)
            case Write(file, _, pieces):
                found = _NUMBER.findall(b"".join(pieces))
                self._written.setdefault(file, []).extend(map(int, found))
            case Sync(file):
                for number in self._written.pop(file, []):
                    self._synced_in.setdefault(number, file)
            case SyncDirectory():
                self._unnamed.clear()

    def crash(self, how: Crash = Crash.DROP, torn_at: int = 0) -> None:
        super().crash(how, torn_at)
        self._written.clear()


class WithoutSync(RecordingDisk):
    """The planted bug: no sync reaches the disk."""

    def perform(self, operation: Operation) -> None:
        if not isinstance(operation, Sync):
            super().perform(operation)


class _Watched:
    """One connection: what the broker sends on it, as frames."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.parser = FrameParser(131_072)
        self.assemblers = {number: ContentAssembler() for number in range(4)}

    def confirmed(self, data: bytes) -> list[Message]:
        """The messages that the acks in ``data`` confirm."""
        messages = []
        self.parser.receive_data(data)
        while (frame := self.parser.next_frame()) is not None:
            command = self.assemblers[frame.channel].receive(frame)
            if command is not None and isinstance(command.method, BasicAck):
                ack = command.method
                channel = self.session.channels[frame.channel - 1]
                for sequence, message in channel.unconfirmed.items():
                    covered = sequence <= ack.delivery_tag
                    if sequence == ack.delivery_tag or (covered and ack.multiple):
                        messages.append(message)
        return messages


class WatchedWorld(World):
    """``early`` are the messages that were confirmed before they were on the medium."""

    def __init__(self, seed: int, recording: RecordingDisk) -> None:
        self._recording = recording
        self._watched: dict[int, _Watched] = {}
        self.seen: dict[int, None] = {}
        self.early: list[int] = []
        scenario = with_features(draw(seed, DURATION_US), ())
        self._durable = {queue.name for queue in scenario.queues if queue.durable}
        super().__init__(scenario, recording)

    def connected(self, link: Link, session: Session) -> None:
        self._watched[link.number] = _Watched(session)
        super().connected(link, session)

    def broker_sent(self, link: Link, data: bytes) -> None:
        for message in self._watched[link.number].confirmed(data):
            if message.persistent and self._durable.intersection(message.queues):
                self.seen[message.number] = None
                if not self._recording.covers(message.number):
                    self.early.append(message.number)
        super().broker_sent(link, data)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_confirm_comes_after_the_sync_of_its_record(seed: int) -> None:
    world = WatchedWorld(seed, RecordingDisk(Random(seed)))
    world.run()
    assert world.early == []
    assert len(world.seen) > 3


def test_without_the_sync_it_goes_red() -> None:
    world = WatchedWorld(0, WithoutSync(Random(0)))
    with pytest.raises(Violation, match=r"durability|rebuild"):
        world.run()
    assert world.early


def test_with_confirms_at_write_time_it_goes_red(monkeypatch: pytest.MonkeyPatch) -> None:
    def promise(self: ConfirmLedger, position: int, promise: Promise, marks: object = ()) -> None:
        promise.kept()

    monkeypatch.setattr(ConfirmLedger, "promise", promise)
    world = WatchedWorld(0, RecordingDisk(Random(0)))
    with contextlib.suppress(Violation):  # As it happens: a crash has to come in between.
        world.run()
    assert world.early
