"""A parked message now: does it go back, into the archive, or does it stay, and until when. Pure.

    parked          parked + every          parked + after
      |---- stays ----|---- goes back -------|---- is archived
                      (at_most times)

All that is asked for is on the message: the time of its last parking, and the count of its
replays. A message that goes back and fails again is parked again, and its time begins anew. What
has lain for ``after`` is archived, whether it has gone back or not: a message whose queue is gone,
and one that nobody could send back because no process ran, comes to its end, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from mqkit.topology.lot_model import LotModel


class Action(Enum):
    """Something to do with a message."""

    REPLAY = "replay"
    ARCHIVE = "archive"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Due:
    """``action`` now. ``until`` is when there may be something to do with a message that is left;
    ``None`` for never: no clock changes what becomes of it."""

    action: Action
    until: datetime | None = None


FOR_EVER = Due(Action.LEAVE)


def due(lot: LotModel, since: datetime | None, replays: int, now: datetime) -> Due:
    """The thing to do with a message that lies in ``lot`` ``since`` then.

    A message that does not say since when (``None``) is left to a person: nothing tells that its
    time has come.
    """
    if since is None:
        return FOR_EVER
    archive_at = back_at = None
    if lot.archive is not None:
        archive_at = since + timedelta(milliseconds=lot.archive.after_ms)
        if archive_at <= now:
            return Due(Action.ARCHIVE)
    if lot.replay is not None and replays < lot.replay.at_most:
        back_at = since + timedelta(milliseconds=lot.replay.every_ms)
        if back_at <= now:
            return Due(Action.REPLAY)
    moments = [moment for moment in (archive_at, back_at) if moment is not None]
    return Due(Action.LEAVE, min(moments, default=None))
