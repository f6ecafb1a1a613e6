"""A failure after the settling: a counter and a line."""

from __future__ import annotations

import pytest

from mqkit.consumer.acks.too_late import failed_too_late
from mqkit.consumer.stats import Stats
from mqkit.message import Delivery, Properties
from mqkit.retry import Park


def test_it_is_counted_and_logged_with_a_traceback_unless_it_was_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stats = Stats()
    delivery = Delivery("", "q", b"secret", Properties(message_id="m"), 1, False)
    failed_too_late("q", delivery, ValueError("no"), stats)
    failed_too_late("q", delivery, Park("later"), stats)
    assert stats == Stats(failed_too_late=2)
    failed, asked = caplog.records
    assert (
        failed.message
        == "the handler of q raised ValueError when message m was settled already: no"
    )
    assert failed.exc_info is not None
    assert asked.exc_info is None
    assert "secret" not in caplog.text
