"""The messages are what the run says that they are."""

from __future__ import annotations

from interop.archives.messages import ALL_OCTETS, Messages, print_of
from interop.archives.octets import FIXED, NAMES, parts_of

SEED, COUNT = 7, 600


def test_they_are_the_same_for_a_seed_and_no_two_are_alike() -> None:
    one, other = Messages(SEED), Messages(SEED)
    assert one.message(3) == other.message(3) != Messages(SEED + 1).message(3)
    found = [one.message(number) for number in range(COUNT)]
    assert len({print_of(each.octets, each.body) for each in found}) == COUNT
    assert len({each.name for each in found}) == COUNT, "a name tells which message it is"


def test_every_octet_every_property_and_every_type_is_there() -> None:
    octets: set[int] = set()
    properties: set[str] = set()
    tags: set[str] = set()
    parked: set[str] = set()
    for number in range(COUNT):
        message = Messages.message(MESSAGES, number)
        octets.update(message.body[:300])
        found, headers = parts_of(message.octets)
        properties.update(found)
        tags.update(chr(value[0]) for value in headers.values())
        parked.update({"x-death", "x-mqkit-parked-at", "CC"} & set(headers))
    assert octets == set(ALL_OCTETS)
    assert properties == set(NAMES) - {"headers"}
    assert tags == {*FIXED, *"DSxVAF"}
    assert parked == {"x-death", "x-mqkit-parked-at", "CC"}


MESSAGES = Messages(SEED)


def test_sizes() -> None:
    sizes = {len(MESSAGES.message(number).body) for number in range(40)}
    assert {0, 1, 260, 1000, 4096, 256 * 1024, 4 * 1024 * 1024} <= sizes
