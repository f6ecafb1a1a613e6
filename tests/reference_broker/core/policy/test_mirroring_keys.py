"""The ``ha-*`` keys: what RabbitMQ 3.10.8 takes and refuses."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.core.policy.mirroring_keys import mirroring_fault


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"ha-mode": "all"},
        {"ha-mode": "exactly", "ha-params": 2},
        {"ha-mode": "nodes", "ha-params": ["a"]},
        {
            "ha-mode": "all",
            "ha-sync-mode": "automatic",
            "ha-sync-batch-size": 5,
            "ha-promote-on-failure": "always",
            "ha-promote-on-shutdown": "when-synced",
        },
    ],
)
def test_taken(definition: dict[str, Any]) -> None:
    assert mirroring_fault(definition) is None


_ALONE = "ha-mode must be specified to specify ha-params, ha-sync-mode or ha-promote-on-shutdown"


@pytest.mark.parametrize(
    ("definition", "fault"),
    [
        ({"ha-sync-batch-size": 5}, _ALONE),
        ({"ha-params": 1}, _ALONE),
        ({"ha-mode": "foo"}, '<<"foo">> is not a valid ha-mode value'),
        ({"ha-mode": 5}, "5 is not a valid ha-mode value"),
        ({"ha-mode": []}, "[] is not a valid ha-mode value"),
        ({"ha-mode": "all", "ha-params": 1}, 'ha-mode="all" does not take parameters'),
        ({"ha-mode": "exactly"}, 'ha-mode="exactly" takes an integer, none given'),
        ({"ha-mode": "exactly", "ha-params": 0}, 'ha-mode="exactly" takes an integer, 0 given'),
        ({"ha-mode": "nodes"}, 'ha-mode="nodes" takes a list, none given'),
        ({"ha-mode": "nodes", "ha-params": []}, 'ha-mode="nodes" list must be non-empty'),
        (
            {"ha-mode": "nodes", "ha-params": ["a", 1]},
            'ha-mode="nodes" takes a list of strings, [1] was not a string',
        ),
        (
            {"ha-mode": "all", "ha-sync-mode": "x"},
            'ha-sync-mode must be "manual" or "automatic", got <<"x">>',
        ),
        (
            {"ha-mode": "all", "ha-sync-batch-size": 0},
            "ha-sync-batch-size takes an integer greater than 0, 0 given",
        ),
        (
            {"ha-mode": "all", "ha-promote-on-failure": "x"},
            'ha-promote-on-failure must be "always" or "when-synced", got <<"x">>',
        ),
    ],
)
def test_refused(definition: dict[str, Any], fault: str) -> None:
    assert mirroring_fault(definition) == fault
