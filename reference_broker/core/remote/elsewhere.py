"""Messages that one request has published to queues of other nodes, and whose answers it awaits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reference_broker.core.remote.forward import send_away

if TYPE_CHECKING:
    from reference_broker.core.journal.watermark import Watermark
    from reference_broker.core.message.content import Content
    from reference_broker.core.queue.queue import Queue
    from reference_broker.core.work.task import Steps


class Elsewhere:
    """The part of a request that other nodes have. ``refused`` is true once one of them has not
    taken a message, or may not have it."""

    __slots__ = ("_marks", "refused")

    def __init__(self) -> None:
        self._marks: dict[Watermark, int] = {}
        self.refused = False

    def publish(self, queues: Sequence[Queue], content: Content) -> tuple[Queue, ...]:
        """Publish ``content`` to those of ``queues`` that are elsewhere; returns the others."""
        here, marks = send_away(queues, content, self._note_refused)
        self._marks.update(marks)
        return here

    def until_answered(self) -> Steps:
        """The steps until the other nodes have said what became of each."""
        for mark, value in self._marks.items():
            while mark.value < value:
                yield mark.reaches(value)

    def _note_refused(self) -> None:
        self.refused = True
