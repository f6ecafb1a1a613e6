"""x-requeue-position and what goes with it: what may be asked for."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.arguments.requeue_position import (
    AT_ITS_PLACE,
    DELAY_MS_MAX,
    RequeuePosition,
    RequeueRule,
)
from reference_broker.errors import ChannelException

WHERE = "queue 'q' in vhost '/'"
BACK = {"x-requeue-position": "back"}


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({}, AT_ITS_PLACE),
        ({"x-requeue-position": "original"}, AT_ITS_PLACE),
        ({"x-requeue-position": "front"}, RequeueRule(RequeuePosition.FRONT)),
        (BACK, RequeueRule(RequeuePosition.BACK)),
        (BACK | {"x-requeue-lower-priority": 2}, RequeueRule(RequeuePosition.BACK, 2)),
        (BACK | {"x-requeue-delay": DELAY_MS_MAX}, RequeueRule(RequeuePosition.BACK, 0, 86400000)),
    ],
)
def test_what_is_allowed(arguments: dict[str, Any], rule: RequeueRule) -> None:
    assert RequeueRule.parse(arguments, WHERE) == rule


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"x-requeue-position": "end"}, "'x-requeue-position' for {}: invalid_requeue_position"),
        ({"x-requeue-position": 1}, "'x-requeue-position' for {}: {{unacceptable_type,signedint}}"),
        (BACK | {"x-requeue-delay": -1}, "'x-requeue-delay' for {}: {{value_negative,-1}}"),
        (
            BACK | {"x-requeue-delay": "1"},
            "'x-requeue-delay' for {}: \"expected integer, got longstr\"",
        ),
        (
            BACK | {"x-requeue-delay": DELAY_MS_MAX + 1},
            "'x-requeue-delay' for {}: {{value_too_large,86400001}}",
        ),
        (
            BACK | {"x-requeue-lower-priority": 256},
            "'x-requeue-lower-priority' for {}: {{value_too_large,256}}",
        ),
        ({"x-requeue-delay": 1}, "'x-requeue-delay' for {}: requeue_position_is_not_back"),
        (
            {"x-requeue-position": "front", "x-requeue-lower-priority": 1},
            "'x-requeue-lower-priority' for {}: requeue_position_is_not_back",
        ),
    ],
)
def test_refusals(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ChannelException) as refusal:
        RequeueRule.parse(arguments, WHERE)
    assert (refusal.value.code, refusal.value.text) == (406, "invalid arg " + text.format(WHERE))
