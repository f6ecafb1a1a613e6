"""The codec's errors.

* :exc:`WireError` - the *peer's* bytes are not AMQP 0-9-1, or cross one of our bounds. It is the
  only exception that anything which decodes may raise, whatever the bytes. :exc:`MalformedText` is
  the one of them that blames no method.
* :exc:`EncodeError` - *our* value can't be put on the wire. It is the only exception that anything
  which encodes raises for a value; nothing was produced.
"""

from __future__ import annotations

from mqkit.wire.spec import ReplyCode


class WireError(Exception):
    """The peer broke the protocol: answer with connection.close, then close the connection.

    Decoding can't go on after it: where the next frame starts is no longer known.
    ``reply_code``, ``text``, ``class_id`` and ``method_id`` are what connection.close wants to say
    (both ids are 0 where no method was being read).
    """

    def __init__(
        self, reply_code: ReplyCode, text: str, class_id: int = 0, method_id: int = 0
    ) -> None:
        super().__init__(f"{reply_code.name} - {text}")
        self.reply_code = reply_code
        self.text = text
        self.class_id = class_id
        self.method_id = method_id


class MalformedText(WireError):
    """A name is not UTF-8. RabbitMQ reads names before it knows whose they are: its
    connection.close has no class and method id then, and neither has this."""

    def __init__(self) -> None:
        super().__init__(ReplyCode.FRAME_ERROR, "Malformed UTF-8 in shortstr")


class EncodeError(ValueError):
    """A value that was to be sent does not fit its place in the protocol. Nothing was sent."""
