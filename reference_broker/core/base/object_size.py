"""The memory that a decoded value takes, such as a field table of a client: for accounts of what a
client has the broker keep."""

from __future__ import annotations

import sys
from typing import Any


def object_bytes(value: Any) -> int:
    """Bytes of a value of JSON or of a field table, with all that is in it. What others share (a
    small number, a text that is in several tables) counts each time."""
    size = 0
    ahead = [value]
    while ahead:
        each = ahead.pop()
        size += sys.getsizeof(each)
        if isinstance(each, dict):
            ahead += each.keys()
            ahead += each.values()
        elif isinstance(each, (list, tuple)):
            ahead += each
    return size
