"""Priority levels: one index per level in use, highest first, dense in each.

A priority queue numbers each level by itself, with the level in the top nine bits of the sequence,
so that a level's index has no holes and consecutive acks of a level fold together in the log::

    bit 63     62..55      54..32                31..0
    | front |  priority  |  epoch of the start  |  counter  |

The epoch (:attr:`Journal.epoch`) makes a sequence unique over restarts as well: what was acked in
an earlier run is never mistaken for a message of this one. 23 bits are eight million starts; a
counter that runs over goes on in the next epoch's numbers, which is harmless while they rise.
"""

from __future__ import annotations

from reference_broker.core.index.index import QueueIndex

LEVEL_SHIFT = 55
EPOCH_SHIFT = 32

FRONT_LEVEL = 256
"""Above every priority, and the top bit of a sequence: what was put back to the front."""


def first_sequence(epoch: int, level: int = 0) -> int:
    """The first sequence of a priority level in ``epoch``, which is one more at each start."""
    return level << LEVEL_SHIFT | epoch << EPOCH_SHIFT


class PriorityLevels:
    """The indexes of a queue with ``x-max-priority``. A priority above the maximum counts as it."""

    __slots__ = ("_epoch", "_highest_first", "_indexes", "max_priority")

    def __init__(self, max_priority: int, epoch: int) -> None:
        self.max_priority = max_priority
        self._epoch = epoch
        self._indexes: dict[int, QueueIndex] = {}
        self._highest_first: list[QueueIndex] = []
        """A list, as :meth:`head` walks it for each message: 255 levels in use are 5 us."""

    @classmethod
    def around(cls, index: QueueIndex, epoch: int) -> PriorityLevels:
        """Of a queue without priorities, whose one ``index`` becomes the lowest level."""
        levels = cls(0, epoch)
        levels.adopt(0, index)
        return levels

    def level_of(self, priority: int) -> int:
        """The level that a message of this priority belongs to."""
        return min(priority, self.max_priority)

    def index_at(self, level: int) -> QueueIndex:
        """The index of a level, made where it isn't there yet."""
        index = self._indexes.get(level)
        if index is None:
            index = QueueIndex(first_sequence(self._epoch, level))
            self._enter(level, index)
        return index

    def adopt(self, level: int, index: QueueIndex) -> None:
        """Recovery: ``index`` is what was stored of a level. New sequences are of this run."""
        index.begin_at(first_sequence(self._epoch, level))
        self._enter(level, index)

    def _enter(self, level: int, index: QueueIndex) -> None:
        self._indexes[level] = index
        self._highest_first = [self._indexes[each] for each in sorted(self._indexes, reverse=True)]

    def holding(self, sequence: int) -> QueueIndex:
        """The index that has ``sequence``."""
        return self._indexes[sequence >> LEVEL_SHIFT]

    def head(self) -> QueueIndex | None:
        """The highest level that has a ready entry."""
        for index in self._highest_first:
            if index.ready:
                return index
        return None

    def all(self) -> list[QueueIndex]:
        """Every level in use, highest first."""
        return self._highest_first.copy()
