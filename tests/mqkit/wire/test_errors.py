"""The codec's errors say what connection.close wants to know."""

from __future__ import annotations

from mqkit.wire import EncodeError, ReplyCode, WireError


def test_a_wire_error_carries_what_connection_close_says() -> None:
    error = WireError(ReplyCode.FRAME_ERROR, "frame ends with 0x00", 60, 40)
    assert str(error) == "FRAME_ERROR - frame ends with 0x00"
    assert (error.reply_code, error.text) == (501, "frame ends with 0x00")
    assert (error.class_id, error.method_id) == (60, 40)
    unnamed = WireError(ReplyCode.FRAME_ERROR, "x")
    assert (unnamed.class_id, unnamed.method_id) == (0, 0)


def test_our_mistakes_are_not_the_peers() -> None:
    assert not issubclass(EncodeError, WireError)
    assert issubclass(EncodeError, ValueError)
