"""The progress of a migration, read from the records of its journal. Pure.

The records are the journal's lines, in their order:

    migration   what is to be done; a new one begins with it, whatever stands before
    binding     somebody bound the queue meanwhile; it will be bound so in the end, too
    begun       a step, and the queue that there shall be in the end
    done        that step, and how it ended
    abort       from here on back to the old queue
    window      messages that are about to be moved, by their ids
    committed   they are moved
    lost        messages that went with the queue (only with ``gap``)
    remark      a sentence for the person who reads the report
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from mqkit.topology.migration.migration import Direction, Migration, binding_from_dict
from mqkit.topology.migration.steps import Event, Step, step_after

Record: TypeAlias = Mapping[str, Any]

REMARKS_MAX = 100
"""Of a report; a migration that is stopped and taken up again says some of them each time."""


class Kind(StrEnum):
    """The kinds of records."""

    MIGRATION = "migration"
    BINDING = "binding"
    BEGUN = "begun"
    DONE = "done"
    ABORT = "abort"
    WINDOW = "window"
    COMMITTED = "committed"
    LOST = "lost"
    REMARK = "remark"


@dataclass(frozen=True, slots=True)
class InDoubt:
    """A window that was under way when the process ended: messages of ``source`` on their way to
    ``destination``, by id (``None`` for one without).

    Moved in a transaction it is in one of the two, unless the broker was killed as well; moved with
    confirms a part of it may be in both.
    """

    source: str
    destination: str
    ids: tuple[str | None, ...]
    with_confirms: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for ``--json``."""
        return {
            "source": self.source,
            "destination": self.destination,
            "ids": list(self.ids),
            "with_confirms": self.with_confirms,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """``step`` is the one to do next. Counts are of all runs since the migration began."""

    migration: Migration
    step: Step = Step.DECLARE
    direction: Direction = Direction.FORWARD
    moved: int = 0
    lost: int = 0
    window: InDoubt | None = None
    in_doubt: tuple[InDoubt, ...] = ()
    remarks: tuple[str, ...] = field(default=())

    @property
    def is_finished(self) -> bool:
        """True when nothing is left to do."""
        return self.step is Step.FINISHED

    def after(self, record: Record) -> Progress:
        """The progress with one record more. Raises ``KeyError``, ``TypeError``, ``ValueError`` or
        :exc:`~mqkit.transitions.IllegalTransition` for one that has no place here."""
        match Kind(record["record"]):
            case Kind.MIGRATION:
                return Progress(Migration.from_dict(record["migration"]))
            case Kind.BINDING:
                binding = binding_from_dict(record["binding"])
                return replace(self, migration=self.migration.with_binding(binding))
            case Kind.BEGUN:
                if Step(record["step"]) is not self.step:
                    raise ValueError(f"{record['step']} is begun where {self.step} is next")
                return self
            case Kind.DONE:
                return replace(self, step=step_after(self.step, Event(record["event"])))
            case Kind.ABORT:
                following = step_after(self.step, Event(record["event"]))
                return replace(self, step=following, direction=Direction.BACK)
            case Kind.WINDOW:
                return replace(self.taken_up(), window=_window(record))
            case Kind.COMMITTED:
                return replace(self, window=None, moved=self.moved + int(record["count"]))
            case Kind.LOST:
                return replace(self, lost=self.lost + int(record["count"]))
            case Kind.REMARK:
                remark = str(record["text"])
                if remark in self.remarks or len(self.remarks) >= REMARKS_MAX:
                    return self
                return replace(self, remarks=(*self.remarks, remark))

    def taken_up(self) -> Progress:
        """The progress with no window open: one that is stays in doubt, since its run ended."""
        open_one = () if self.window is None else (self.window,)
        return replace(self, window=None, in_doubt=(*self.in_doubt, *open_one))


def progress_after(progress: Progress | None, record: Record) -> Progress:
    """The progress with one record more; the first one has to be a migration. Raises as
    :meth:`Progress.after`."""
    if progress is not None:
        return progress.after(record)
    if Kind(record["record"]) is not Kind.MIGRATION:
        raise ValueError("it does not begin with a migration")
    return Progress(Migration.from_dict(record["migration"]))


def _window(record: Record) -> InDoubt:
    return InDoubt(
        str(record["source"]),
        str(record["destination"]),
        tuple(None if each is None else str(each) for each in record["ids"]),
        bool(record["with_confirms"]),
    )
