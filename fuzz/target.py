"""A fuzz target: a function that takes any bytes, and the bytes to begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Target(NamedTuple):
    """``check`` raises for bytes that have shown a bug, and for no others. ``seeds`` are made by
    our own encoders each time, so no corpus has to be kept."""

    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
