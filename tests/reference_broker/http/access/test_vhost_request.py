"""The properties of a virtual host in JSON; the paths are in test_access_api, on both brokers."""

from __future__ import annotations

import pytest

from reference_broker.core.base.vhost_info import UNDEFINED, VHostInfo
from reference_broker.http.access.vhost_request import vhost_info
from reference_broker.http.request.answer import ApiError

EXISTING = VHostInfo("old", ("a",), True, "quorum", {"max-queues": 5})


def test_nothing_given_is_nothing_set() -> None:
    assert vhost_info({}, None) == VHostInfo("", (), False, UNDEFINED, {})


def test_labels_are_emptied_and_limits_and_the_default_queue_type_stay() -> None:
    assert vhost_info({}, EXISTING) == VHostInfo("", (), False, "quorum", {"max-queues": 5})


@pytest.mark.parametrize("key", ["default_queue_type", "defaultqueuetype"])
def test_the_default_queue_type_has_two_names(key: str) -> None:
    assert vhost_info({key: "classic"}, EXISTING).default_queue_type == "classic"
    assert vhost_info({key: ""}, EXISTING).default_queue_type == "quorum"


@pytest.mark.parametrize(("given", "tracing"), [("true", True), (True, True), ("false", False)])
def test_tracing_may_be_a_text(given: object, tracing: bool) -> None:
    assert vhost_info({"tracing": given}, None).tracing is tracing


def test_any_other_tracing_is_refused() -> None:
    with pytest.raises(ApiError, match="not_boolean"):
        vhost_info({"tracing": "yes"}, None)
