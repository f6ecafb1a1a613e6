"""A queue's request to read messages, as it waits in the log."""

from __future__ import annotations

from array import array
from typing import NamedTuple


class FetchRequest(NamedTuple):
    """Messages that a queue wants to have read; positions are the log's or the pages'. They wait
    in ``Log.fetches`` until whoever reads takes them out."""

    queue_id: int
    sequences: array[int]
    positions: array[int]
