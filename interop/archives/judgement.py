"""The promises of archives and replays, judged by what was read. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from interop.archives.octets import parts_of

WINDOW = 100
"""Messages that a killed replay may have sent and not yet taken out of the lot."""

PEAK_SLACK_KIB = 24 * 1024
"""A window is 8 MiB at most, and its messages are there as records, lines and gzipped as well; an
allocator does not give all of it back."""

KNOWN_OCTETS = 256
"""A restore holds a key for each message that the lot has already: about 100 octets, and a table
that has just been doubled."""

OWN = re.compile(r"x-mqkit-(?!original-).*|x-death|x-(first|last)-death-.*|CC|BCC")
"""Headers that a replay may change or take away (docs/retry.md)."""
DROPPED = {"expiration", "user_id"}

REPEATED = re.compile(r"an earlier run may have sent \d+ of these already: (.*)")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A replayed message: its number, ``None`` for one that nobody made, and whether all but
    :data:`OWN` and :data:`DROPPED` is as it was."""

    number: int | None
    is_same: bool


def differs(wanted: Sequence[bytes], found: Sequence[bytes], where: str) -> Iterator[str]:
    """Each message once, equal and in order."""
    if len(wanted) != len(found):
        yield f"{where}: {len(found)} messages, not {len(wanted)}"
    for number, (one, other) in enumerate(zip(wanted, found, strict=False)):
        if one != other:
            yield f"{where}: message {number} is another one, or is not as it was"
            return


def lost(wanted: Sequence[bytes], places: Sequence[Collection[bytes]], when: str) -> Iterator[str]:
    """Each message is in one of the places at least."""
    missing = [
        number for number, one in enumerate(wanted) if not any(one in place for place in places)
    ]
    if missing:
        yield f"{when}: {len(missing)} are neither in a file nor in the lot, first {missing[0]}"


def repeated_names(err: str) -> list[str]:
    """The names that a replay has told on stderr."""
    found: list[str] = []
    for line in err.splitlines():
        match = REPEATED.search(line)
        if match:
            found += match[1].split(", ")
    return found


def replayed(
    names: Sequence[str], arrivals: Sequence[Arrival], told: Counter[str], kills: int
) -> Iterator[str]:
    """Each message was sent, as it was, in order, and again only when it was named before."""
    copies = Counter(arrival.number for arrival in arrivals)
    strangers = copies.pop(None, 0)
    if strangers:
        yield f"replay: {strangers} messages that nobody has made"
    changed = sum(not arrival.is_same for arrival in arrivals if arrival.number is not None)
    if changed:
        yield f"replay: {changed} messages are not as they were"
    absent = [name for number, name in enumerate(names) if not copies[number]]
    if absent:
        yield f"replay: {len(absent)} were never sent, such as {absent[0]}"
    for number, count in sorted(copies.items(), key=str):
        name = names[number] if number is not None else ""
        if count > 1 + told[name]:
            yield f"replay: {name} was sent {count} times, and named {told[name]} times"
    again = copies.total() - len(copies)
    if again > WINDOW * kills:
        yield f"replay: {again} were sent again in {kills} kills, more than {WINDOW} a kill"
    firsts = list(dict.fromkeys(each.number for each in arrivals if each.number is not None))
    if firsts != sorted(firsts):
        yield "replay: not in the order of the lot"


def is_same(before: tuple[bytes, bytes], after: tuple[bytes, bytes]) -> bool:
    """A message before and after a replay, each as its properties and body."""
    if before[1] != after[1]:
        return False
    kept = [_kept(*parts_of(octets)) for octets, _ in (before, after)]
    return kept[0] == kept[1]


def _kept(
    properties: Mapping[str, bytes], headers: Mapping[str, bytes]
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    return (
        {name: each for name, each in properties.items() if name not in DROPPED},
        {name: each for name, each in headers.items() if not OWN.fullmatch(name)},
    )


def grows(what: str, small_kib: int, large_kib: int, known: int = 0) -> Iterator[str]:
    """Memory is that of a window, and not of the lot: a lot ten times as large takes no more, but
    for the keys of ``known`` messages."""
    allowed = small_kib + PEAK_SLACK_KIB + known * KNOWN_OCTETS // 1024
    if large_kib > allowed:
        yield f"{what}: {large_kib} KiB for the lot, {small_kib} KiB for a tenth of it"
