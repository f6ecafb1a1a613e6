"""The machine that the broker runs on: its disk, its network, and one process after another."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Protocol

from reference_broker.simulation.disk.inspection import Found, found_in
from reference_broker.simulation.disk.medium import Crash
from reference_broker.simulation.disk.power import PowerCut, PoweredDisk
from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.machine.network import Link, Stream
from reference_broker.simulation.machine.node import Node
from reference_broker.simulation.machine.socket import Wiretap
from reference_broker.simulation.plan.plans import BrokerPlan
from reference_broker.store import open_log
from reference_broker.store.log.pages import Pages, discard_pages

RESTART_US = (1_000, 1_000_000)
CUT_IN_RECOVERY_CHANCE = 0.15
BATCHES_PER_SEGMENT = 4
"""Of the real log, too: batches are cut as often as segments are begun."""
_TORN_MAX_BYTES = 4_096


class ProcessEvents(Protocol):
    """The watcher of processes that come and go."""

    def started(self, node: Node, found: Found) -> None:
        """A process runs, with the messages that it found on its disk."""

    def ended(self, node: Node) -> None:
        """The process is gone, whatever ended it."""

    def stopped_cleanly(self, node: Node) -> None:
        """The process stopped on purpose and everything is on its disk. :meth:`ended` follows."""


class Machine:
    """The machine. ``node`` is the process that runs, ``None`` while there is none. After whatever
    ended one, the next starts by itself."""

    def __init__(
        self,
        clock: SimulatedClock,
        random: Random,
        disk: PoweredDisk,
        plan: BrokerPlan,
        events: ProcessEvents,
        wiretap: Wiretap,
    ) -> None:
        self.node: Node | None = None
        self.disk = disk
        self.links: list[Link] = []
        """Links that were made and not cut since."""
        self.cuts_in_recovery = 0
        self.recoveries_cut_short = True
        """True while the power may fail again when the broker starts."""
        self._clock = clock
        self._random = random
        self._plan = plan
        self._events = events
        self._wiretap = wiretap
        self._links_made = 0
        self._starting = False

    # Clients

    def connect(
        self, received: Callable[[bytes, int], None], ended: Callable[[], None]
    ) -> Link | None:
        """A new link to the broker; ``None`` when nobody listens."""
        node = self.node
        if node is None:
            return None
        self._links_made += 1
        clock, random = self._clock, self._random
        to_broker = Stream(
            clock, random, lambda data, _: node.receive(link, data), lambda: node.receive_eof(link)
        )
        link = Link(self._links_made, to_broker, Stream(clock, random, received, ended))
        self.links = [*self.links[-20:], link]
        node.connect(link)
        return link

    # The process and its ends

    def start(self) -> None:
        """Recover from the disk, and listen. If that fails it is tried again later."""
        self._starting = False
        self.disk.unreadable = ""
        if self.recoveries_cut_short and self._random.random() < CUT_IN_RECOVERY_CHANCE:
            self.disk.cut_power_at(self._random.randint(1, 12))
        plan = self._plan
        try:
            folder = self.disk.open_folder()
            discard_pages(folder)
            log, recovered = open_log(
                folder,
                segment_bytes=plan.segment_bytes,
                batch_bytes=plan.segment_bytes // BATCHES_PER_SEGMENT,
            )
        except PowerCut:
            self.cuts_in_recovery += 1
            self.crash_disk()
            self._restart()
            return
        except OSError:
            self.disk.process_ended()
            self._restart()
            return
        finally:
            self.disk.keep_power()
        log.pages = Pages(page_bytes=plan.segment_bytes)
        found = found_in(log, recovered, self.disk)
        self.node = node = Node(
            self._clock,
            self._random,
            plan,
            folder,
            self.disk,
            log,
            recovered,
            self._wiretap,
            self._disk_failed,
        )
        self._events.started(node, found)

    def kill(self) -> None:
        """Kill the process. Its writes, synced or not, are there for the next one."""
        node, self.node = self.node, None
        if node is not None:
            node.crash()
            self.disk.process_ended()
            self.links = []
            self._events.ended(node)
            self._restart()

    def lose_power(self, how: Crash | None = None, torn_at: int | None = None) -> None:
        """Stop the machine at once: writes that weren't synced are dropped, kept or torn; in any
        way that there is, unless ``how`` names one."""
        self.kill()
        self.crash_disk(how, torn_at)

    def stop(self) -> bool:
        """A clean stop, after which the machine loses power: nothing may depend on its cache.
        Returns whether it was clean (it can't be on a disk that is full or fails)."""
        if self.node is None:
            return False
        node, self.node = self.node, None
        self.links = []
        try:
            clean = node.stop()
        except PowerCut:
            node.crash()
            self._events.ended(node)
            self.crash_disk()
            self._restart()
            return False
        if clean:
            self._events.stopped_cleanly(node)
        self._events.ended(node)
        self.disk.process_ended()
        self.disk.crash(Crash.DROP)
        self._restart()
        return clean

    def crash_disk(self, how: Crash | None = None, torn_at: int | None = None) -> None:
        """Lose power; in any way that there is, unless ``how`` names one."""
        self.disk.process_ended()
        any_way = self._random.choice(list(Crash))
        anywhere = self._random.randint(0, _TORN_MAX_BYTES)
        self.disk.crash(how or any_way, anywhere if torn_at is None else torn_at)

    def _disk_failed(self) -> None:
        """Let the process tell its clients that the disk failed, and end it."""
        node = self.node
        self._clock.after(1_000, lambda: self.kill() if self.node is node else None)

    def _restart(self) -> None:
        if not self._starting:
            self._starting = True
            self._clock.after(self._random.randint(*RESTART_US), self.start)
