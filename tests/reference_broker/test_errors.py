from __future__ import annotations

import pytest

from reference_broker.errors import ChannelException, ReplyCode

PREFIX = "NOT_FOUND - "


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no queue", "no queue"),
        ("q" * (255 - len(PREFIX)), "q" * (255 - len(PREFIX))),
        ("q" * (256 - len(PREFIX)), "q" * (252 - len(PREFIX)) + "..."),
        ("ä" * 200, "ä" * 120 + "..."),
    ],
)
def test_a_reply_text_fits_into_a_shortstr(text: str, shown: str) -> None:
    reply_text = ChannelException(ReplyCode.NOT_FOUND, text).reply_text
    assert reply_text == PREFIX + shown
    assert len(reply_text.encode()) <= 255
