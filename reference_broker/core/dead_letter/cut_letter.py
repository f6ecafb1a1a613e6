"""Dead letters whose history had no room: they count their hops, as nobody can tell from x-death
that they are in a cycle.

The count is in memory only. A letter that is read from the disk begins anew, so a cycle that leads
over the disk is as slow as the disk is, and one in memory ends.
"""

from __future__ import annotations

from reference_broker.core.message.content import Content
from reference_broker.core.queue.death import Death, DeathReason

HOPS_MAX = 100_000
"""Queues that a letter may leave by itself after tables of its history had to go. A virtual host
has no more of them, so it has come back to one."""


class CutLetter(Content):
    """A dead letter that has left ``hops`` queues by itself since its history was cut, or since a
    consumer rejected it."""

    __slots__ = ("hops",)

    def __init__(self, content: Content, hops: int) -> None:
        super().__init__(content.route, content.header, content.body)
        self.hops = hops

    def again(self) -> CutLetter:
        return CutLetter(self, self.hops)


def cut_letter_of(death: Death, letter: Content) -> CutLetter:
    """``letter`` with the hops of the message that died, and this one."""
    if death.reason is DeathReason.REJECTED:
        return CutLetter(letter, 0)
    earlier = death.content
    return CutLetter(letter, 1 + (earlier.hops if isinstance(earlier, CutLetter) else 0))
