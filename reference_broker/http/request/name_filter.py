"""Filters of a list by name: names that contain a text, or match a pattern, in either case.

Patterns come from outside, so they run on RE2, whose time is linear in the name and whose memory
is bounded; Python's ``re`` takes exponential time for some.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import re2

from reference_broker.http.request.answer import bad_request

PATTERN_BYTES_MAX = 1_000
"""Bytes of a pattern: four names of the longest kind. Compiling takes time by the length."""

PATTERN_MEMORY_BYTES = 1 << 20
"""Memory of a compiled pattern; RE2's own default is 8 MiB, for patterns of its own side."""

INSTRUCTIONS_MAX = 2_000
"""Instructions of a compiled pattern. At its slowest RE2 takes each of them for each octet of a
name, at 8 ns: 4 ms for the longest name."""

STEPS_PER_ENTRY = 128
"""Such steps for which a name counts as an entry of a portion more: about a microsecond."""


class NameFilter(NamedTuple):
    """A test of names: ``shows`` lets through, and ``cost`` is how many entries of a portion a name
    counts for."""

    shows: Callable[[str], bool]
    cost: Callable[[str], int]


def name_filter(name: str, *, is_pattern: bool) -> NameFilter | None:
    """A test of names; ``None`` where every name is shown. A pattern is looked for anywhere in the
    name.

    Raises :exc:`ApiError` 400 for a pattern that can't be used, in RabbitMQ's words.
    """
    if not name:
        return None
    if not is_pattern:
        wanted = name.lower()
        return NameFilter(lambda each: wanted in each.lower(), lambda each: 1)
    if len(name.encode(errors="replace")) > PATTERN_BYTES_MAX:
        raise bad_request("Pagination parameters are invalid")
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY_BYTES
    try:
        pattern = re2.compile(name, options)
    except re2.error:
        raise bad_request("Pagination parameters are invalid") from None
    instructions = pattern.programsize
    if instructions > INSTRUCTIONS_MAX:
        raise bad_request("Pagination parameters are invalid")
    return NameFilter(
        lambda each: pattern.search(each) is not None,
        lambda each: 1 + instructions * len(each) // STEPS_PER_ENTRY,
    )
