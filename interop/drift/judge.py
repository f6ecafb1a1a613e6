"""The judgement of one change, and of a quiet time. Pure: what was told, and when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from interop.drift.app_process import Told
from interop.drift.changes.change import Change, What


def all_told(expected: Sequence[What], told: Iterable[Told], *, is_over: bool = False) -> bool:
    """True if each of ``expected`` is among ``told``."""
    seen = {one.what for one in told if one.is_over == is_over}
    return all(what in seen for what in expected)


def faults(
    change: Change,
    look: str,
    told: Sequence[Told],
    *,
    made_s: float,
    limit_s: float,
    gone: Sequence[str],
) -> list[str]:
    """The faults in what was told of ``change``, which was made at ``made_s``, and whose
    objects ``gone`` are not there again."""
    found = [f"{name} is not there again" for name in gone]
    expected = change.expected(look)
    for what in expected:
        times = [one.at_s for one in told if one.what == what and not one.is_over]
        if not times:
            found.append(f"not told: {' '.join(what)}")
        elif min(times) > made_s + limit_s:
            found.append(f"told after {min(times) - made_s:.2f} s: {' '.join(what)}")
    return found + strays(told, expected, change.touches)


def strays(
    told: Sequence[Told], expected: Sequence[What] = (), touches: Sequence[str] = ()
) -> list[str]:
    """The events about things that nobody changed. An object that is expected to be different may
    be missing in between, or have other fields that differ."""
    return [
        f"nobody changed this: {one.row}"
        for one in told
        if one.what not in expected and one.what[2] not in touches
    ]
