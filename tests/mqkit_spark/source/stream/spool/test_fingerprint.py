"""Fingerprints of messages."""

from __future__ import annotations

from typing import Any

from mqkit_spark.source.stream.spool.fingerprint import FINGERPRINT_OCTETS, fingerprint


def test_id_and_body_make_it(message: Any) -> None:
    mark = fingerprint(message("a", b"bc"))
    assert mark is not None
    assert len(mark) == FINGERPRINT_OCTETS
    assert mark == fingerprint(message("a", b"bc"))
    others = [message("a", b"bd"), message("b", b"bc"), message("ab", b"c"), message("", b"abc")]
    assert mark not in {fingerprint(other) for other in others}


def test_without_an_id_there_is_none(message: Any) -> None:
    assert fingerprint(message(None, b"bc")) is None


def test_an_id_that_is_not_utf8_has_one(message: Any) -> None:
    assert fingerprint(message("\udcff")) != fingerprint(message("\udcfe"))
