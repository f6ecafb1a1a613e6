"""names: what clients may call things."""

from __future__ import annotations

import pytest

from reference_broker.core.base.names import cleaned, described, not_found, refuse_reserved
from reference_broker.errors import ChannelException, ReplyCode


def test_line_breaks_are_removed() -> None:
    assert cleaned("a\r\nb\n") == "ab"


def test_a_name_holds_255_bytes() -> None:
    assert cleaned("n" * 255) == "n" * 255
    for name in ("n" * 256, "é" * 128, "\ud800"):
        with pytest.raises(ChannelException) as caught:
            cleaned(name)
        assert caught.value.code is ReplyCode.PRECONDITION_FAILED


def test_reserved_names() -> None:
    refuse_reserved("queue", "amq")
    refuse_reserved("queue", "an.amq.queue")
    with pytest.raises(ChannelException) as caught:
        refuse_reserved("queue", "amq.foo")
    assert caught.value.reply_text == (
        "ACCESS_REFUSED - queue name 'amq.foo' contains reserved prefix 'amq.*'"
    )


def test_texts() -> None:
    assert described("exchange", "x", "/") == "exchange 'x' in vhost '/'"
    assert not_found("queue", "q", "/").reply_text == "NOT_FOUND - no queue 'q' in vhost '/'"
