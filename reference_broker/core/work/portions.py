"""The work that is left over from earlier turns, and whose portion comes next.

Virtual hosts take turns, and within one its connections do, so that who has much to do slows nobody
but himself. The virtual host's own work (messages to be handed out, expired, dropped) has a slice
beside each of a connection: what was asked for is not to fall behind what is being asked for.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from reference_broker.core.work.budget import Budget
from reference_broker.core.work.task import Done, Steps, Task, raise_error

SLICE_UNITS = 250
"""Units of one slice: an eighth of a turn, so that eight have a part in it."""


class Job(Protocol):
    """Work that can be continued, and whose it is: a connection's in a virtual host."""

    @property
    def vhost_name(self) -> str:
        """The virtual host; empty for the broker's own work."""
        ...

    @property
    def connection_id(self) -> int:
        """The connection; 0 for the virtual host's own work."""
        ...

    def advance(self) -> bool:
        """Go on until the budget is spent. True when there is nothing to go on with; who has more
        later lists itself again."""
        ...


class _VHostJobs:
    """The jobs of one virtual host."""

    __slots__ = ("by_connection", "own")

    def __init__(self) -> None:
        self.own: deque[Job] = deque()
        self.by_connection: dict[int, deque[Job]] = {}

    def add(self, job: Job) -> None:
        if job.connection_id:
            self.by_connection.setdefault(job.connection_id, deque()).append(job)
        else:
            self.own.append(job)

    def take(self) -> list[Job]:
        """The next of the virtual host's own jobs, and of the connection's whose turn it is."""
        jobs: list[Job] = []
        if self.own:
            jobs.append(self.own.popleft())
        if self.by_connection:
            number = next(iter(self.by_connection))
            lane = self.by_connection.pop(number)
            jobs.append(lane.popleft())
            if lane:
                self.by_connection[number] = lane
        return jobs

    def __len__(self) -> int:
        return len(self.own) + len(self.by_connection)


class Portions:
    """Jobs in order of their turns. A job is listed once at most: its owner sees to that."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._vhosts: dict[str, _VHostJobs] = {}

    def __bool__(self) -> bool:
        """True while there is anything to go on with."""
        return bool(self._vhosts)

    def add(self, job: Job) -> None:
        """Go on with ``job`` when its turn comes."""
        jobs = self._vhosts.get(job.vhost_name)
        if jobs is None:
            jobs = self._vhosts[job.vhost_name] = _VHostJobs()
        jobs.add(job)

    def start(
        self,
        steps: Steps,
        vhost_name: str,
        connection_id: int = 0,
        done: Done = raise_error,
    ) -> None:
        """Take ``steps`` as far as the turn goes, and the others in later ones. ``done`` is called
        when they have ended, which may be now."""
        task = Task(self.add, steps, vhost_name, connection_id, done)
        if not task.advance():
            self.add(task)

    def run(self) -> None:
        """Go on with one job after another, a slice each, until the budget is spent."""
        while self._vhosts and self._budget.left > 0:
            name = next(iter(self._vhosts))
            jobs = self._vhosts.pop(name)
            due = jobs.take()
            if jobs:
                self._vhosts[name] = jobs
            while due:
                try:
                    self._advance(due.pop(0), others=bool(due))
                except BaseException:
                    for job in due:  # an error of one is not the other's
                        self.add(job)
                    raise

    def _advance(self, job: Job, *, others: bool) -> None:
        """One slice; for a job that is alone the rest of the turn is one."""
        budget = self._budget
        units = min(budget.left, SLICE_UNITS) if self._vhosts or others else budget.left
        # A look costs something, too: who only waits for others must not be asked without end.
        kept = budget.left - units - 1
        budget.left = units
        try:
            ended = job.advance()
        except Exception:
            if not job.connection_id:  # the virtual host's queues have others to serve
                self.add(job)
            raise
        finally:
            budget.left += kept
        if not ended:
            self.add(job)
