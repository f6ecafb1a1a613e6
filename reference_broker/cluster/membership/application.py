"""The application of a node to its cluster: the steps of joining, asked of etcd until they are
through."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from reference_broker.cluster.coordinator import Coordinator, Transaction
from reference_broker.cluster.membership.joining import (
    Answer,
    Applicant,
    FolderMark,
    Joined,
    JoinSteps,
    Lookup,
    TryAgain,
    joining,
)
from reference_broker.cluster.pause import Pause, Timer
from reference_broker.errors import ClusterRefused, Corrupt


class ApplicationOwner(Protocol):
    """The node that applies."""

    def mark_folder(self, mark: FolderMark, marked: Callable[[], None]) -> None:
        """Have the mark in the data folder, and call ``marked`` when it is on disk. A mark that is
        the same as the one there is fine."""
        ...

    def joined(self, joined: Joined) -> None:
        """The node is a member."""
        ...

    def refused(self, reason: str) -> None:
        """The node can't be a member, however often it tries: end, and say so."""
        ...

    def waits(self, reason: str) -> None:
        """An attempt failed, and another one follows."""
        ...


class Application:
    """One application: it begins with :meth:`begin`, and goes on until the node has joined, is
    refused, or takes it back."""

    def __init__(
        self,
        coordinator: Coordinator,
        applicant: Applicant,
        after: Timer,
        owner: ApplicationOwner,
    ) -> None:
        self._coordinator = coordinator
        self._applicant = applicant
        self._owner = owner
        self._pause = Pause(after)
        self._steps: JoinSteps | None = None

    def begin(self) -> None:
        """Begin an attempt."""
        self._steps = joining(self._applicant)
        self._go_on(self._steps, None)

    def take_back(self) -> None:
        """Ask nothing more. Idempotent."""
        self._steps = None
        self._pause.end()

    def _go_on(self, steps: JoinSteps, answer: Answer) -> None:
        if steps is not self._steps:
            return
        try:
            asked = steps.send(answer)
        except StopIteration as end:
            self._owner.joined(end.value)
        except TryAgain as error:
            self._pause.begin(self.begin)
            self._owner.waits(str(error))
        except (ClusterRefused, Corrupt) as error:
            self._owner.refused(str(error))
        else:
            go_on = partial(self._go_on, steps)
            if isinstance(asked, Lookup):
                self._coordinator.read(
                    asked.prefix, go_on, after=asked.after, revision=asked.revision
                )
            elif isinstance(asked, Transaction):
                self._coordinator.propose(asked, go_on)
            else:
                self._owner.mark_folder(asked.mark, partial(go_on, None))
