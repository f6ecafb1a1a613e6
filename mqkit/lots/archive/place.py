"""The path of an archive: a folder, a file, or a pattern with ``{queue}`` and ``{date}``. Pure.

A queue may be called ``../../etc/x``, and have 255 octets; a file's name may have no slash, and no
more than 255 octets with its suffix. So letters, digits, ``.``, ``_`` and ``-`` stay, every other
octet is ``%XX``, a dot at the beginning too; what is longer than 120 octets is cut, and ends with a
digest of the whole name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from string import ascii_letters, digits

from mqkit.lots.archive.fault import ArchiveFault
from mqkit.lots.archive.formats import SUFFIXES

NAME_OCTETS_MAX = 120
"""Leaves room for time, number, suffix and ``.part`` in a name of 255 octets."""

NUMBERS_MAX = 10_000
"""Runs into one pattern in a day: more is a loop gone wild."""

_DIGEST_DIGITS = 16
_NAMES = re.compile(r"\{([^{}]*)\}")
_KEPT = frozenset((ascii_letters + digits + "._-").encode())


def escaped(queue: str) -> str:
    """A queue's name as a part of a file's name. Different for different queues."""
    octets = queue.encode("utf-8", "surrogateescape")
    text = "".join(chr(each) if each in _KEPT else f"%{each:02X}" for each in octets)
    if text.startswith("."):
        text = f"%2E{text[1:]}"
    if len(text) <= NAME_OCTETS_MAX:
        return text
    digest = hashlib.sha256(octets).hexdigest()[:_DIGEST_DIGITS]
    return f"{text[: NAME_OCTETS_MAX - _DIGEST_DIGITS - 1]}~{digest}"


@dataclass(frozen=True, slots=True)
class Place:
    """``to`` as a person gives it: a file if it ends like an archive, else a folder."""

    to: str = "."

    @property
    def is_fixed(self) -> bool:
        """True for the name of one file: if that is taken, there is no other."""
        return self.to.endswith(SUFFIXES) and "{" not in self.to

    def paths(self, queue: str, now: datetime) -> Iterator[Path]:
        """The path for an archive of ``queue``, and others in case that it is taken: each run has
        a file of its own. Raises :exc:`ArchiveFault` for a pattern with other names in it."""
        if self.is_fixed:
            yield Path(self.to)
            return
        time = now.astimezone(UTC)
        pattern = self.to
        if not pattern.endswith(SUFFIXES):
            pattern = f"{pattern or '.'}/{{queue}}-{{time}}{SUFFIXES[0]}"
        stamp = time.strftime("%Y%m%dT%H%M%SZ")
        words = {"queue": escaped(queue), "date": time.strftime("%Y-%m-%d"), "time": stamp}
        text = _NAMES.sub(lambda found: self._word(words, found[1]), pattern)
        suffix = next(each for each in SUFFIXES if text.endswith(each))
        yield Path(text)
        for number in count(2):
            if number > NUMBERS_MAX:
                return
            yield Path(f"{text.removesuffix(suffix)}-{number}{suffix}")

    def _word(self, words: dict[str, str], name: str) -> str:
        if name not in words:
            raise ArchiveFault(
                f"{self.to!r} is no place for archives: it may have {{queue}}, {{date}}, {{time}}"
            )
        return words[name]
