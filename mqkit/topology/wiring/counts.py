"""Counts in words."""

from __future__ import annotations


def counted(count: int, word: str) -> str:
    """``1 message``, ``2 messages``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
