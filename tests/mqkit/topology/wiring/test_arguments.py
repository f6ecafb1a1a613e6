"""The dead-letter target in a queue's arguments."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.topology.wiring.arguments import target_of

DLX, KEY = "x-dead-letter-exchange", "x-dead-letter-routing-key"


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        ({}, None),
        ({KEY: "k"}, None),
        ({DLX: 5}, None),
        ({DLX: "x"}, ("x", None)),
        ({DLX: "", KEY: "q"}, ("", "q")),
        ({DLX: "x", KEY: 5}, ("x", None)),
    ],
)
def test_target(arguments: dict[str, Any], target: tuple[str, str | None] | None) -> None:
    assert target_of(arguments) == target
