"""Routing keys in CC and BCC: octets of every text in the array, and nothing else."""

from __future__ import annotations

from mqkit.wire import Typed
from reference_broker.core.message.copy_keys import cc_keys


def test_keys_are_octets_and_other_things_are_passed_over() -> None:
    keys = ["one", Typed("S", b"\xff"), 7, None]
    assert cc_keys({"CC": keys}) == [b"one", b"\xff"]
    assert cc_keys({"CC": "no array"}) == []
    assert cc_keys({}) == []
    assert cc_keys({"CC": ["one"], "BCC": ["two"]}, "BCC") == [b"two"]
