"""The id of a message's trace, from its ``traceparent`` header
(https://www.w3.org/TR/trace-context/#traceparent-header)."""

from __future__ import annotations

import re
from collections.abc import Mapping

TRACEPARENT = "traceparent"

HEADER_CHARS_MAX = 512
"""A header of a later version of the format may be longer than the 55 characters of this one."""

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?", re.DOTALL)
_THIS_VERSION = "00"
_NO_VERSION = "ff"


def trace_id_of(headers: Mapping[str, object]) -> str | None:
    """The trace id, 32 hexadecimal digits; ``None`` without a header, and for one that is not of
    that form. What others send is shown in logs, so nothing else of it is taken."""
    text = headers.get(TRACEPARENT)
    if isinstance(text, bytes | bytearray):
        text = text[:HEADER_CHARS_MAX].decode("ascii", "replace")
    if not isinstance(text, str) or len(text) > HEADER_CHARS_MAX:
        return None
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    version, trace_id, parent_id, more = found.groups()
    if version == _NO_VERSION or (version == _THIS_VERSION and more is not None):
        return None
    return trace_id if trace_id.strip("0") and parent_id.strip("0") else None
