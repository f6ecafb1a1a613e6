"""A virtual host for one test, on the broker of this process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqkit.errors import ConfigurationError
from mqkit.testing.broker import Broker
from mqkit.testing.in_process.broker_thread import BrokerThread
from mqkit.testing.in_process.declared import declarations
from mqkit.testing.in_process.timed_vhost import TimedVhost
from mqkit.testing.in_process.vhost_faults import VhostFaults
from mqkit.testing.scenario.file import read, taken, write
from mqkit.testing.scenario.recording import Recording
from mqkit.testing.scenario.replaying import Replay
from mqkit.testing.topology_text import text_of
from mqkit.testing.virtual_time.clock import VirtualClock
from mqkit.topology.snapshot import Snapshot
from reference_broker.core.broker import Broker as CoreBroker
from reference_broker.runtime.config import GUEST

_numbers = itertools.count(1)


class ReferenceBroker(Broker):
    """A virtual host of the broker of this process. Made by :func:`reference_broker`."""

    def __init__(self, thread: BrokerThread, vhost: str) -> None:
        super().__init__(f"amqp://{GUEST.name}:{GUEST.password}@127.0.0.1:{thread.port}/{vhost}")
        self._thread = thread
        self._vhost = vhost
        self._clock: VirtualClock | None = None
        self._faults: VhostFaults | None = None

    @property
    def clock(self) -> VirtualClock:
        if self._clock is None:
            self._clock = VirtualClock(TimedVhost(self._thread, self._vhost))
        return self._clock

    @property
    def clock_if_any(self) -> VirtualClock | None:
        return self._clock

    @property
    def faults(self) -> VhostFaults:
        if self._faults is None:
            self._faults = VhostFaults(self._thread, self._vhost)
        return self._faults

    @contextmanager
    def record(self, path: str | Path) -> Iterator[None]:
        path, clock, faults = Path(path), self.clock, self.faults
        if path.exists():
            raise ConfigurationError(taken(path))
        if faults.told is not None:
            raise ConfigurationError("a scenario is recorded already: one at a time")
        recording = Recording(clock.utc_now)
        faults.told, clock.told = recording.did, recording.advanced
        try:
            yield
        finally:
            faults.told = clock.told = None
            write(path, recording.steps())

    async def replay(self, path: str | Path) -> None:
        path = Path(path)
        await Replay(path, read(path), self.clock, self.faults).run()

    def topology(self) -> str:
        declared = self._thread.run(
            lambda: declarations(self._thread.server.broker.vhosts[self._vhost])
        )
        return text_of(Snapshot.of(self._vhost, declared))

    def close(self) -> None:
        if self._faults is not None:
            self._faults.end()
        super().close()
        if self._clock is not None:
            self._clock.end()


@contextmanager
def reference_broker() -> Iterator[ReferenceBroker]:
    """An empty virtual host on a reference broker in this process, for the time of the block.

    The first block starts the broker, which takes a moment; others find it there. At the end what
    is still connected is closed, and the virtual host deleted with all that is in it.
    """
    thread = BrokerThread.of_process()
    vhost = f"test-{next(_numbers)}"

    def make(broker: CoreBroker) -> None:
        broker.add_vhost(vhost)
        broker.access.allow_everything(GUEST.name, vhost)

    thread.perform(make)
    found = ReferenceBroker(thread, vhost)
    try:
        yield found
    finally:
        found.close()
        thread.begin(lambda broker, done: broker.delete_vhost(vhost, done))
