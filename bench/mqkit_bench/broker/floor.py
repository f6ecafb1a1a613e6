"""The floor of a lone publisher: one write and fdatasync, and a transient confirm's round trip.

A broker that syncs before it confirms can't be faster, whatever it does. Both halves are measured
in each round: the round trip on the reference broker, the sync on the disk that all write to.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from statistics import median

from mqkit_bench.broker.entrant import Entrant
from mqkit_bench.broker.scenario import Scenario, Subscription
from mqkit_bench.broker.stage import Stage, stage
from mqkit_bench.broker.standing import FLOOR
from mqkit_bench.broker.sync_mode import NO_DISK
from mqkit_bench.broker.topology import Queue, Topology
from mqkit_bench.broker.traffic import Passed, Traffic
from mqkit_bench.contestant import Contestant

QUEUE = "bench.floor"
FILE_BYTES = 16 << 20
"""The file is written over again and again, as a log would that uses its segments again: that is
the quickest sync that there is."""
PIECE_BYTES = 1 << 20


class Floor(Entrant):
    """The entrant that plays nothing but the lone publisher's scenario."""

    def plays(self, scenario: Scenario) -> bool:
        return scenario.is_lone


class DiskFile:
    """A file of its own on the disk, which is there in full before. Close it."""

    def __init__(self) -> None:
        self._descriptor, name = tempfile.mkstemp(prefix="mqkit-bench-")
        os.unlink(name)
        for place in range(0, FILE_BYTES, PIECE_BYTES):
            os.pwrite(self._descriptor, bytes(PIECE_BYTES), place)
        os.fsync(self._descriptor)
        self._place = 0

    def sync(self, octets: bytes) -> float:
        """Write them behind what was written last, and sync; the seconds that it took."""
        if self._place + len(octets) > FILE_BYTES:
            self._place = 0
        began = time.perf_counter()
        os.pwrite(self._descriptor, octets, self._place)
        os.fdatasync(self._descriptor)
        self._place += len(octets)
        return time.perf_counter() - began

    def close(self) -> None:
        os.close(self._descriptor)


class FloorTraffic(Traffic):
    """Half of the time goes to the round trips of ``trips``, half to the disk; both medians are
    added. The connections are those of ``trips``, which closes them."""

    def __init__(self, scenario: Scenario, trips: Traffic, octets: bytes, disk: DiskFile) -> None:
        super().__init__(scenario, trips.senders, trips.receivers)
        self._octets = octets
        self._disk = disk

    def run(self, seconds: float) -> Passed:
        trips = super().run(seconds / 2)
        assert trips.confirm_ms is not None
        syncs: list[float] = []
        until = time.perf_counter() + seconds / 2
        while not syncs or time.perf_counter() < until:
            syncs.append(self._disk.sync(self._octets))
        confirm_ms = trips.confirm_ms + 1000 * median(syncs)
        messages = trips.messages
        return Passed(messages, messages * confirm_ms / 1000, trips.client_cpu_s, confirm_ms)

    def close(self) -> None:
        self._poll.close()


def floor(reference: Contestant) -> Floor:
    """The floor beside that reference broker."""

    @contextmanager
    def set_up(scenario: Scenario) -> Iterator[Stage]:
        message = replace(scenario.messages[0], routing_key=QUEUE, persistent=False)
        trips = replace(
            scenario,
            topology=Topology((Queue(QUEUE, durable=False),)),
            messages=(message,),
            subscriptions=(Subscription((QUEUE,), ack_every=1),),
        )
        disk = DiskFile()
        try:
            with (
                stage(reference, trips) as found,
                closing(
                    FloorTraffic(trips, found.traffic, scenario.messages[0].publish_frames(), disk)
                ) as traffic,
            ):
                yield Stage(replace(reference, name=FLOOR, pid=0), trips, traffic)
        finally:
            disk.close()

    return Floor(FLOOR, NO_DISK, set_up)
