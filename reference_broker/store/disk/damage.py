"""Which errors of a read mean that something is lost, and which only that it can't be read now."""

from __future__ import annotations

import errno

DAMAGE = frozenset(
    getattr(errno, name)
    for name in ("EIO", "EBADMSG", "ENODATA", "EREMOTEIO", "EUCLEAN")
    if hasattr(errno, name)
)
"""Errors by which the medium says that something on it is gone. No other one says so: with too many
open files the messages are still there."""
