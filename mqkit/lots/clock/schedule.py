"""The pause between two looks through a lot. Pure.

A message that comes after a look can't be due before the shortest time of the lot is over, so a
lot whose messages lie for an hour is not read every second.
"""

from __future__ import annotations

from datetime import datetime

from mqkit.lots.clock.looked import Looked
from mqkit.topology.lot_model import LotModel

GAP_S = 1.0
"""The times of a lot are at least a second, so nobody is served better by more looks."""
REST = 9
"""Looking is at most a tenth of the time: a lot of thousands with a message due every second."""
FAULT_S = 30.0
"""A message that was refused, or a disk that is full, is tried again after this."""
LONGEST_S = 600.0
"""Messages that somebody moves into the lot bring an old time with them."""


def pause_s(lot: LotModel, looked: Looked, now: datetime, took_s: float) -> float:
    """Seconds until the next look, after one that took ``took_s``."""
    times_ms = [
        *([] if lot.replay is None else [lot.replay.every_ms]),
        *([] if lot.archive is None else [lot.archive.after_ms]),
    ]
    pause = min([LONGEST_S, *(time_ms / 1000 for time_ms in times_ms)])
    if looked.next_due is not None:
        pause = min(pause, (looked.next_due - now).total_seconds())
    faulty = looked.refused or looked.archive_fault or looked.delivery_limit
    least = max(GAP_S, REST * took_s, FAULT_S if faulty else 0.0)
    return max(pause, least)
