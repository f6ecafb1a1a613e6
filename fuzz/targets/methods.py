"""Method arguments: what can be decoded can be encoded, and is the same then."""

from __future__ import annotations

from fuzz.target import Target
from mqkit.wire import WireError, decode_method, encode_method
from mqkit.wire.methods import (
    BasicConsume,
    BasicPublish,
    ConnectionStartOk,
    ExchangeDeclare,
    QueueBind,
    QueueDeclare,
)


def check(data: bytes) -> None:
    """Nothing but the codec's error, and a fixed point after one round. (``repr`` tells ``1``
    from ``True``.)"""
    try:
        method = decode_method(data)
    except WireError:
        return
    again = decode_method(encode_method(method))
    assert repr(again) == repr(method)


def seeds() -> list[bytes]:
    arguments = {"x-max-length": 5, "x-match": "all", "list": [1, None, {"deep": b"\xff"}]}
    return [
        encode_method(each)
        for each in (
            BasicPublish("exchange", "key", mandatory=True),
            BasicConsume("queue", "tag", arguments=arguments),
            QueueDeclare("queue", durable=True, arguments=arguments),
            QueueBind("queue", "exchange", "key", arguments=arguments),
            ExchangeDeclare("exchange", "headers"),
            ConnectionStartOk({"product": "any"}, "PLAIN", b"\0guest\0guest"),
        )
    ]


TARGET = Target("methods", check, seeds)
