"""Fingerprints of messages."""

from __future__ import annotations

from hashlib import blake2b

from mqkit_spark.source.stream.spool.fingerprint import (
    FINGERPRINT_OCTETS,
    came_again,
    fingerprints,
)


def one(message_id: bytes | None, body: bytes) -> bytes | None:
    (found,) = fingerprints([message_id], [body])
    return found


def test_id_and_body_make_it() -> None:
    mark = one(b"a", b"bc")
    assert mark is not None
    assert len(mark) == FINGERPRINT_OCTETS
    others = [(b"a", b"bd"), (b"b", b"bc"), (b"ab", b"c"), (b"", b"abc")]
    assert mark not in set(fingerprints(*zip(*others, strict=True)))
    assert fingerprints([b"a", None, b"a"], [b"bc", b"bc", b"bc"]) == [mark, None, mark]


def test_what_spool_folders_have_is_still_known() -> None:
    """Their files outlive this version."""
    for name in (b"", b"a", "\u00e9".encode(), b"\xff" * 255):
        octets = len(name).to_bytes(4) + name + b"body"
        assert one(name, b"body") == blake2b(octets, digest_size=16).digest()


def test_without_an_id_there_is_none() -> None:
    assert one(None, b"bc") is None


def test_what_came_again_is_told_by_its_place() -> None:
    known = {b"old"}
    assert came_again([b"a", None, b"b", None], known) == set()
    assert known == {b"old", b"a", b"b"}
    assert came_again([b"c", b"a", None, b"c", b"old"], known) == {1, 3, 4}
    assert known == {b"old", b"a", b"b", b"c"}
