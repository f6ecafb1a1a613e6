"""The messages of a lot: by a seed and a number always the same ones, and no two alike.

Bodies of many sizes, from none to 4 MiB, of every octet and of text; all properties; headers of
every AMQP type. One third was parked by mqkit, one third died in a broker, as their headers have
it, and one third does not say how it came here.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from typing import Any

from interop.archives.octets import FIXED, Table, Tagged, counted, encoded, entry

SIZES = (0, 1, 17, 256, 257, 1000, 1024, 4096)
ALL_OCTETS = bytes(range(256))
LARGE_EACH, LARGE_OCTETS = 1_000, 256 * 1024
HUGE_EACH, HUGE_OCTETS = 10_000, 4 * 1024 * 1024
NAMED_FROM_OCTETS = 17
"""A message with a smaller body always has an id: bodies that small are not all different."""

TABLES = 499
"""Header tables that are made; a prime, so that each meets each size."""
FULL_TABLE_EACH = 8
"""One table in so many has every type in every place; the others have some by themselves."""
SHORT_TABLE = 4
RANGES = {"b": 7, "B": -8, "s": 15, "u": -16, "I": 31, "i": -32, "l": 63, "T": -64}
"""The bits of a type's numbers; below zero for one without a sign."""
LAST_DIGEST_DIGITS = 16
PARKED_S = 1_700_000_000
CC_EACH = 20
NUMBER = "n"


@dataclass(frozen=True, slots=True)
class Message:
    """``octets`` are the properties. ``name`` is how the tools call it."""

    number: int
    name: str
    octets: bytes
    body: bytes


def print_of(octets: bytes, body: bytes) -> bytes:
    """Equal only for what is equal in properties, headers with their types, and body."""
    digest = hashlib.blake2b(octets, digest_size=16)
    digest.update(body)
    return digest.digest()


class Messages:
    """The messages of one seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        rng = random.Random(seed)
        self._tables = [_entries(_some_types(turn, rng)) for turn in range(TABLES)]

    def message(self, number: int) -> Message:
        """The one of that number."""
        rng = random.Random(f"{self._seed} {number}")
        body = _body(number, rng)
        is_named = number % 3 != 2 or len(body) < NAMED_FROM_OCTETS
        properties = _properties(number, rng, is_named=is_named)
        own = [(NUMBER, ("I", number)), *_parking(number)]
        if number % CC_EACH == 0:
            own.append(("CC", ("A", [("S", b"nobody.is.called.this")])))
        headers = counted(_entries(own) + self._tables[number % TABLES])
        unnamed = f"sha256:{hashlib.sha256(body).hexdigest()[:LAST_DIGEST_DIGITS]} (no id)"
        name = properties.get("message_id", unnamed)
        return Message(number, name, encoded(properties, headers), body)


def _entries(entries: Table) -> bytes:
    return b"".join(entry(name, value) for name, value in entries)


def _body(number: int, rng: random.Random) -> bytes:
    if number % HUGE_EACH == HUGE_EACH // 900:
        return rng.randbytes(HUGE_OCTETS)
    if number % LARGE_EACH == LARGE_EACH // 100:
        return rng.randbytes(LARGE_OCTETS)
    size = SIZES[number % len(SIZES)]
    if size == len(ALL_OCTETS):
        turn = rng.randrange(len(ALL_OCTETS))
        return ALL_OCTETS[turn:] + ALL_OCTETS[:turn] + number.to_bytes(4, "big")
    if number % 2 or size < NAMED_FROM_OCTETS:
        return rng.randbytes(size)
    text = json.dumps({"n": number, "to": "jörg@example.org", "text": "\u2028\x00\n€𝄞"})
    return text.encode().ljust(size)


def _properties(number: int, rng: random.Random, *, is_named: bool) -> dict[str, Any]:
    every: dict[str, Any] = {
        "content_type": "application/json",
        "content_encoding": rng.choice(("utf-8", "gzip", "")),
        "delivery_mode": rng.choice((1, 2)),
        "priority": rng.randrange(256),
        "correlation_id": f"c-{number}-ü",
        "reply_to": "replies",
        "expiration": str(86_400_000 + number),
        "timestamp": rng.choice((0, PARKED_S + number, 1 << 40)),
        "type": "t" * rng.choice((0, 1, 255)),
        "user_id": "guest",
        "app_id": rng.choice(("app", "")),
        "cluster_id": "c",
    }
    if number % 2:
        every = {name: value for name, value in every.items() if rng.random() < 0.5}
    if is_named:
        every["message_id"] = f"m-{number}"
    return every


def _parking(number: int) -> Table:
    """The headers that tell how it came here."""
    if number % 3 == 0:
        at = f"2023-11-14T22:{number // 60 % 60:02}:{number % 60:02}+00:00".encode()
        return [("x-mqkit-parked-at", ("S", at)), ("x-mqkit-queue", ("S", b"email"))]
    if number % 3 == 1:
        death = [
            ("count", ("l", 1)),
            ("reason", ("S", b"rejected")),
            ("queue", ("S", b"email")),
            ("time", ("T", PARKED_S + number)),
            ("exchange", ("S", b"")),
            ("routing-keys", ("A", [("S", b"email")])),
        ]
        return [("x-death", ("A", [("F", death)]))]
    return []


def _some_types(turn: int, rng: random.Random) -> Table:
    every = _every_type(rng)
    return every if turn % FULL_TABLE_EACH == 0 else rng.sample(every[:-2], SHORT_TABLE)


def _every_type(rng: random.Random) -> list[tuple[str, Tagged]]:
    """A value of every type by itself, in a table, and in an array."""
    values = [_value(tag, rng) for tag in (*FIXED, "D", "S", "x", "V")]
    named = [(f"{tag} of AMQP", (tag, value)) for tag, value in values]
    text = ("text", ("S", "schön".encode()))
    inner = [*named, ("$amqp", ("S", b"long")), ("value", ("I", 5))]
    return [*named, text, ("table", ("F", inner)), ("array", ("A", [*values, ("F", named)]))]


def _value(tag: str, rng: random.Random) -> Tagged:
    if tag in RANGES:
        bits = abs(RANGES[tag])
        low = 0 if RANGES[tag] < 0 else -(1 << bits)
        return tag, rng.choice((low, 0, (1 << bits) - 1, rng.randrange(low, 1 << bits)))
    match tag:
        case "t":
            return tag, rng.random() < 0.5
        case "f":
            return tag, rng.randrange(-(1 << 20), 1 << 20) / 16
        case "d":
            return tag, rng.choice((0.1, -0.0, 1e308, 5e-324, rng.random()))
        case "D":
            return tag, (rng.randrange(256), rng.randrange(-(1 << 31), 1 << 31))
        case "V":
            return tag, None
    return tag, rng.choice((b"", b"\xff\xfe\x00", ALL_OCTETS, "ä".encode(), rng.randbytes(9)))
