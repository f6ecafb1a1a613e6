"""``Health`` and its reasons as plain values."""

from __future__ import annotations

import json

from mqkit.health import Fault, Health, Reason


def test_it_is_ready_without_a_reason_why_not() -> None:
    assert Health(True).is_ready
    reason = Reason(Fault.NOT_CONSUMING, "pay has no subscription", "orders")
    assert not Health(True, (reason,)).is_ready


def test_it_goes_into_json() -> None:
    reason = Reason(Fault.NOT_CONNECTED, "there is no connection")
    assert json.loads(json.dumps(Health(True, (reason,)).to_dict())) == {
        "live": True,
        "ready": False,
        "reasons": [{"fault": "not connected", "name": "", "text": "there is no connection"}],
        "more": 0,
    }
