"""Quorum lots that count looks."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.lots.clock.delivery_limit import SAFE_DELIVERIES, counts_looks, is_near_limit
from mqkit.topology.file.read import loads

UNLIMITED = 2_147_483_647
FILE = f"""
queues:
  work: {{retry: {{after: [1s]}}}}
  compiled: {{type: quorum, retry: {{after: [1s]}}}}
  classic: {{}}
  quorum: {{type: quorum}}
  few: {{type: quorum, arguments: {{x-delivery-limit: 50}}}}
  free: {{type: quorum, arguments: {{x-delivery-limit: {UNLIMITED}}}}}
"""


def rabbitmq(version: Any) -> dict[str, Any]:
    return {"product": "RabbitMQ", "version": version}


@pytest.mark.parametrize(
    ("server", "lot", "expected"),
    [
        (rabbitmq("4.0.3"), "quorum", True),
        (rabbitmq("4.0.3"), "few", True),
        (rabbitmq("4.0.3"), "free", False),
        (rabbitmq("4.0.3"), "classic", False),
        (rabbitmq("4.0.3"), "work.parked", False),
        (rabbitmq("4.0.3"), "compiled.parked", False),
        (rabbitmq("4.0.3"), "not in the file", True),
        (rabbitmq("10.0"), "quorum", True),
        (rabbitmq("3.13.7"), "quorum", False),
        (rabbitmq("unknown"), "quorum", True),
        (rabbitmq(None), "quorum", True),
        ({"product": "mqkit reference broker", "version": "4.0"}, "quorum", False),
        ({}, "quorum", False),
    ],
)
def test_who_counts_looks(server: dict[str, Any], lot: str, expected: bool) -> None:
    assert counts_looks(server, loads(FILE), lot) is expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(SAFE_DELIVERIES - 1, False), (SAFE_DELIVERIES, True), ("99", False), (None, False)],
)
def test_near_the_limit(count: object, expected: bool) -> None:
    assert is_near_limit({"x-delivery-count": count}) is expected
    assert not is_near_limit({})
