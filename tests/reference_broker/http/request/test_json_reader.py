"""A large JSON text read in portions: the same value as json.loads gives, or refused as well."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from reference_broker.http.request import json_reader
from reference_broker.http.request.answer import ApiError
from reference_broker.http.request.body import decoded
from reference_broker.http.request.json_reader import (
    NUMBER_DIGITS_MAX,
    PORTION_BYTES,
    PORTION_EVENTS,
    VALUES_MAX,
    JsonReader,
    TooManyValues,
)

PIECES = (13, 16, 29, 64, 8_192)
REFUSED = "refused"
ANY = 1 << 40


def read(text: bytes, values_max: int = ANY) -> Any:
    reader = JsonReader(text, values_max)
    try:
        while not reader.portion():
            pass
    except ValueError:
        return REFUSED
    return reader.value


def loaded(text: bytes) -> Any:
    """The value of this text in a small body, in which it is a member of an object."""
    try:
        return decoded(b'{"":' + text + b"}")[""]
    except ApiError:
        return REFUSED


def compare(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    want = loaded(text)
    longest = max((len(each) for each in re.findall(rb"[0-9.eE+-]+", text)), default=0)
    for piece in PIECES:
        if longest < piece:
            monkeypatch.setattr(json_reader, "PIECE_BYTES", piece)
            monkeypatch.setattr(json_reader, "PORTION_BYTES", 3 * piece)
            assert repr(read(text)) == repr(want), (piece, text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1.5,"b":12345678901234567890123,"d":-0,"e":-0.0,"f":1E5, "g":1.0}', b"1e400",
        b"NaN", b"[-Infinity]", b'{"a":1}x', b'{"a":1}{}', b"1 2", b"[1,]", b'{"a":1,}', b"[1",
        b'{"a":1', b"01", b"1.", b"/* no */ 1", b"tru", b" true ", b"null", b"", b"   ", b"\\",
        b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\\\ud83d"', b'"\\\\\\ud83d"', b'"\\\\ud83d\\ude00"',
        b'"\\ud83d\\u0041"', b'"\\ude00\\ud83d"', b'"\xed\xa0\x80"', b'"\xff"', b'"\\x"',
        b'"\\u12"',
        b'"\x01"', b'"\x7f"', b'"\\u0000"', b'"a', b'"', b'""', b'{"":""}', b'{"a\\', b'"a\\"',
        b'{"a":1,"a":{"b":2},"a":3,"c":[[],{},[{}],""]}', b'{"a" "b"}', b'{1:2}', b'{"a":"b""c"}',
        b'{"\xc3\xa9\xf0\x9f\x98\x80":"\xc3\xa9\\n\\"\\/"}', b"[" * 800 + b"]" * 800,
        b"[" * 2_000 + b"]" * 2_000, b'"' + b"9" * 5_000 + b'"',
        b'"' + b"\\ud83d\\ude00" * 3_000 + b'"', b'"' + "é😀".encode() * 5_000 + b'"',
        b'["' + b'\\"' * 9_000 + b'","' + b"x" * 20_000 + b'",{"' + b"y" * 20_000 + b'":"z"}]',
        b'"' + b"x" * 20_000, b'"' + b"x" * 9_000 + b"\xff" * 9_000 + b'"',
        b'"' + b"\\ud83d" * 3_000 + b'"',
    ],
)  # fmt: skip
def test_as_json_loads_has_it(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    compare(monkeypatch, text)


@pytest.mark.parametrize("seed", range(20))
def test_generated_texts(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        text = bytearray(_value(rng, 4))
        if rng.random() < 0.3:
            text[rng.randrange(len(text))] = rng.randrange(256)
        compare(monkeypatch, bytes(text))


_PARTS = [b"\\\\", b'\\"', b"\\u00e9", b"\xc3\xa9", b"\xf0\x9f\x98\x80", b"a", b"xyz", b" ",
          b"\\n", b"\\ud83d\\ude00", b"{", b"]", b",", b"7"]  # fmt: skip
_WRONG = [b"\\", b"\\u", b"\\ud83d", b"\\ude00", b"\xff", b"\n", b'"']


def _string(rng: random.Random) -> bytes:
    parts = _PARTS + (_WRONG if rng.random() < 0.02 else [])
    return b'"' + b"".join(rng.choices(parts, k=rng.choice((0, 1, 3, 10, 60)))) + b'"'


def _value(rng: random.Random, depth: int) -> bytes:
    kind = rng.randrange(8)
    if depth == 0 or kind < 4:
        return rng.choice((_string(rng), b"1", b"-2.5e3", b"true", b"null", b"123456789"))
    inner = [_value(rng, depth - 1) for _ in range(rng.randrange(5))]
    if kind < 6:
        return b"[" + b",".join(inner) + b"]"
    return b"{" + b" , ".join(_string(rng) + b":" + each for each in inner) + b"}"


def test_a_portion_has_so_many_values_and_bytes() -> None:
    """Otherwise a body of 20 MB is one turn of the loop."""
    numbers, words = b"[" + b"1," * 200_000 + b"1]", b'["' + b"x" * 2_000_000 + b'"]'
    for text, portions in ((numbers, 200_000 // (PORTION_EVENTS + 4_097)), (words, 30)):
        reader, count = JsonReader(text, ANY), 1
        before = 0
        while not reader.portion():
            assert reader.events - before <= PORTION_EVENTS + json_reader.PIECE_BYTES
            before = reader.events
            count += 1
        assert count > portions
        assert reader.value == json.loads(text)
    assert len(words) / PORTION_BYTES > 30


def test_too_many_values_end_it_before_the_rest_is_read() -> None:
    reader = JsonReader(b'{"a":[' + b"1," * 10_000_000 + b"1]}", VALUES_MAX)
    portions = 0
    with pytest.raises(TooManyValues):
        while not reader.portion():
            portions += 1
    assert portions <= VALUES_MAX // PORTION_EVENTS + 1


def test_a_number_has_so_many_digits() -> None:
    assert read(b"[" + b"9" * NUMBER_DIGITS_MAX + b"]") == [int("9" * NUMBER_DIGITS_MAX)]
    for digits in (NUMBER_DIGITS_MAX + 1, 100_000):
        assert read(b"[" + b"9" * digits + b"]") == REFUSED
        assert read(b"[0." + b"9" * digits + b"]") == REFUSED
        assert read(b'["' + b"9" * digits + b'"]') == ["9" * digits]
