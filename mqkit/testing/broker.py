"""A broker as a test has it: a place of its own on a broker, which is empty at the beginning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from mqkit.testing.queue import Queue, QueueReader

if TYPE_CHECKING:
    from mqkit.testing.in_process.vhost_faults import VhostFaults
    from mqkit.testing.virtual_time.clock import VirtualClock


class Broker(ABC):
    """An empty virtual host. ``url`` is good for every AMQP client."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._reader = QueueReader(url)

    def queue(self, name: str) -> Queue:
        """The queue of that name, to look at its messages. It need not be there yet."""
        return Queue(name, self._reader)

    @property
    @abstractmethod
    def clock(self) -> VirtualClock:
        """The clock of this broker, which stands still from the first time that a test asks for it:
        give it to the apps of the test, and move it. Only a broker in the test's process has
        one."""

    @property
    @abstractmethod
    def clock_if_any(self) -> VirtualClock | None:
        """The clock, if a test has asked for it."""

    @property
    @abstractmethod
    def faults(self) -> VhostFaults:
        """Faults that the broker has when told to. Only a broker in the test's process has them."""

    @abstractmethod
    def topology(self) -> str:
        """All that is declared here now, as the text of a topology file (YAML), in one order: to be
        compared with a text that a test has, or with what it was before."""

    @abstractmethod
    def record(self, path: str | Path) -> AbstractContextManager[None]:
        """Record the verbs of :attr:`faults` that are called in the block, each at its moment of
        :attr:`clock` (which stands still from now on), and write them to a new file at its end,
        however it ends: YAML, to be kept beside the test that has :meth:`replay`.

        Raises :exc:`~mqkit.errors.ConfigurationError` where the file is there already, or another
        recording is under way.
        """

    @abstractmethod
    async def replay(self, path: str | Path) -> None:
        """Move :attr:`clock` on to the moment of each recorded verb, and call it. Returns at the
        moment at which the recording ended, when all is settled. What the test does meanwhile, it
        does in a task beside this.

        Raises :exc:`~mqkit.testing.scenario.replaying.ScenarioDiffers`, naming the step that can't
        be as it was when it was recorded, and :exc:`~mqkit.errors.ConfigurationError`, naming the
        line, for a file that can't be read.
        """

    def close(self) -> None:
        """Close the connection by which queues are looked at. Idempotent."""
        self._reader.close()
