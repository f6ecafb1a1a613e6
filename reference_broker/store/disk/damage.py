"""Errors of a read that mean damage; after any other the bytes can still be read later."""

from __future__ import annotations

import errno

DAMAGE = frozenset(
    getattr(errno, name)
    for name in ("EIO", "EBADMSG", "ENODATA", "EREMOTEIO", "EUCLEAN")
    if hasattr(errno, name)
)
"""Error numbers by which the medium reports a loss. No other one does: with too many open files the
messages are still there."""
