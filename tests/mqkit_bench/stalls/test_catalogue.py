"""mqkit_bench.stalls.catalogue: each action can be played, very small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from mqkit_bench.stalls.action import Action
from mqkit_bench.stalls.catalogue import CATALOGUE, NOBODY
from mqkit_bench.stalls.replaceable import ReplaceableBroker, replaceable_brokers
from mqkit_bench.stalls.tenant import Tenant

SCALE = 0.001
FLOODS = {
    *("http-headers", "http-paths", "heartbeats", "wrong-logins"),
    *("http-headers-publisher", "http-paths-publisher", "heartbeats-publisher"),
}
"""Actions that do as much as they can, however small the scale is."""


@pytest.fixture(scope="module")
def broker() -> Iterator[ReplaceableBroker]:
    """It speaks TLS as well."""
    with replaceable_brokers([]) as (broker,):
        yield broker


def test_the_probe_alone_is_first() -> None:
    assert next(iter(CATALOGUE)) == NOBODY


@pytest.mark.slow
@pytest.mark.parametrize(
    "action",
    [action for action in CATALOGUE.values() if action.name not in FLOODS],
    ids=lambda action: action.name,
)
def test_an_action_is_played(action: Action, broker: ReplaceableBroker) -> None:
    with closing(Tenant(broker.contestant, SCALE)) as tenant:
        remark = action.prepare(tenant)()
    # The broker refuses a body of more than 8,192 values, which is what the action is about.
    assert remark in ("", "answer 413") or remark.startswith("a login took")
