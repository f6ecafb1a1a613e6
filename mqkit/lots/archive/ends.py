"""The first and the last line of an archive. Pure."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from mqkit.lots.archive.formats import MARK, VERSION, Origin


def first_line(origin: Origin) -> bytes:
    """Says that the file is an archive, and of which lot."""
    shown = {
        "archive": MARK,
        "version": VERSION,
        "lot": origin.lot,
        "vhost": origin.vhost,
        "begun": origin.begun.isoformat(),
    }
    return json.dumps(shown).encode()


def origin_of(shown: dict[str, Any]) -> Origin:
    """The origin in a first line. Raises ``ValueError``."""
    if shown.get("archive") != MARK:
        raise ValueError("no archive of a lot")
    if shown.get("version") != VERSION:
        raise ValueError(f"an archive of version {shown.get('version')!r:.20}, not {VERSION}")
    lot, vhost = shown.get("lot"), shown.get("vhost")
    if not isinstance(lot, str) or not isinstance(vhost, str):
        raise ValueError("an archive that does not say of which lot")
    return Origin(lot, vhost, datetime.fromisoformat(str(shown.get("begun"))))


def last_line(messages: int, sha256: str) -> bytes:
    """Says that the archive is whole: the count, and the digest of all lines before."""
    return json.dumps({"end": True, "messages": messages, "sha256": sha256}).encode()


def is_last(shown: dict[str, Any]) -> bool:
    """True for a last line."""
    return shown.get("end") is True


def fits(shown: dict[str, Any], messages: int, sha256: str) -> bool:
    """True if the last line tells of exactly these messages."""
    return shown.get("messages") == messages and shown.get("sha256") == sha256
