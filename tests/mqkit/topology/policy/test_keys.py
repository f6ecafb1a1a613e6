"""The keys of policies, and the values that they take, beside RabbitMQ's and the reference
broker's opinion."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from mqkit.topology.policy.keys import POLICY_KEYS, VIA_POLICY, argument_of

VALUES = [0, 1, 5, -1, 1.5, True, None, "", "x", "lazy", "random", "all", "1h", "balanced", [1]]
PLUGINS = ("federation-",)
UNANSWERED = ("queue-master-locator",)
"""RabbitMQ 3.10.8 never answers a request with a value that is no text."""
TOGETHER = ("ha-", "consumer-timeout")
"""``ha-...`` keys are checked together, and the other one is of RabbitMQ 4."""


@pytest.mark.parametrize("key", [it for it in POLICY_KEYS if not it.startswith(PLUGINS + TOGETHER)])
def test_a_value_is_valid_here_exactly_where_the_broker_takes_it(broker: Any, key: str) -> None:
    path = f"{broker.management_url}/api/policies/%2F/of keys"
    # Plain HTTP, without the time to read the authorities.
    with httpx.Client(auth=("guest", "guest"), trust_env=False, verify=False) as client:
        for value in VALUES:
            if key in UNANSWERED and not isinstance(value, str):
                continue
            body = {"pattern": "^nothing at all$", "definition": {key: value}}
            taken = client.put(path, json=body).is_success
            assert taken == POLICY_KEYS[key].valid(value), (key, value)
        client.delete(path)


def test_what_may_be_listed_is_a_policy_key_and_an_argument() -> None:
    for keys in VIA_POLICY.values():
        for key in keys:
            assert key in POLICY_KEYS
            assert argument_of(key) == f"x-{key}"
    assert argument_of("alternate-exchange") == "alternate-exchange"
