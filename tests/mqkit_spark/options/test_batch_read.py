"""mqkit_spark.options.batch_read: the options of ``spark.read``."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.options.batch_read import BATCH_READ_OPTIONS, AckMode, BatchReadOptions, Until

GIVEN = {"url": "amqp://h/", "queue": "q"}


def test_what_is_not_said() -> None:
    options = BATCH_READ_OPTIONS.from_spark(GIVEN)
    assert options == BatchReadOptions(url="amqp://h/", queue="q")
    assert (options.max_messages, options.ack_mode) == (10_000, AckMode.PEEK)
    assert (options.until, options.timeout_s) == (Until.EMPTY, None)


def test_what_is_said() -> None:
    said = {"maxMessages": "5", "ackMode": "onRead", "until": "timeout", "timeout": "1.5"}
    options = BATCH_READ_OPTIONS.from_spark(GIVEN | said)
    assert (options.max_messages, options.ack_mode) == (5, AckMode.ON_READ)
    assert (options.until, options.timeout_s) == (Until.TIMEOUT, 1.5)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"maxMessages": "0"}, "maxMessages must be at least 1"),
        ({"ackMode": "auto"}, "option ackMode: expected one of peek, onread, not 'auto'"),
        ({"until": "never"}, "option until: expected one of empty, timeout"),
        ({"until": "timeout"}, "until=timeout goes with a timeout in seconds"),
        ({"timeout": "5"}, "a timeout with until=timeout"),
        ({"until": "timeout", "timeout": "0"}, "timeout must be more than 0 seconds"),
        ({"mode": "spool"}, "option mode belongs to spark.readStream"),
        ({"maxOffsetsPerTrigger": "5"}, "option maxOffsetsPerTrigger belongs to spark.readStream"),
        ({"path": "orders"}, "a queue is named by option queue"),
        ({"maxMessage": "5"}, "did you mean maxMessages?"),
    ],
)
def test_what_cannot_be(said: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        BATCH_READ_OPTIONS.from_spark(GIVEN | said)
    assert words in str(error.value)
