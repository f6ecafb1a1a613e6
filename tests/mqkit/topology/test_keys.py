"""The typed dictionaries have the file's keys: those of the readers, and those of the schema."""

from __future__ import annotations

from typing import Any

import pytest

from mqkit.topology import keys
from mqkit.topology.file.read import EXCHANGE_KEYS, QUEUE_KEYS
from mqkit.topology.file.retry_section import RETRY_KEYS
from mqkit.topology.file.schema import topology_schema

DEFINITIONS = topology_schema()["definitions"]
SECTIONS = topology_schema()["properties"]
POLICY = SECTIONS["policies"]["additionalProperties"]["properties"]
LOT = SECTIONS["lots"]["additionalProperties"]["properties"]
QUEUE = DEFINITIONS["queue"]["properties"]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (keys.ExchangeKeys, EXCHANGE_KEYS),
        (keys.QueueKeys, QUEUE_KEYS),
        (keys.RetryKeys, RETRY_KEYS),
        (keys.BindKeys, ("from", "key", "arguments")),
        (keys.DeadLetterKeys, ("exchange", "key")),
    ],
)
def test_every_key_that_is_read_has_a_type(typed: Any, read: tuple[str, ...]) -> None:
    assert set(read) <= set(typed.__annotations__)


@pytest.mark.parametrize(
    ("typed", "properties"),
    [
        (keys.ExchangeKeys, DEFINITIONS["exchange"]["properties"]),
        (keys.QueueKeys, QUEUE),
        (keys.RetryKeys, DEFINITIONS["retry"]["properties"]),
        (keys.BindKeys, DEFINITIONS["bindings"]["items"]["properties"]),
        (keys.DeadLetterKeys, QUEUE["dead_letter"]["properties"]),
        (keys.DepthKeys, QUEUE["alert"]["properties"]),
        (keys.PolicyKeys, POLICY),
        (keys.LotKeys, LOT),
        (keys.ReplayKeys, LOT["replay"]["properties"]),
        (keys.ArchiveKeys, LOT["archive"]["properties"]),
        (keys.AlertKeys, LOT["alert"]["properties"]),
    ],
)
def test_the_schema_has_the_same_keys(typed: Any, properties: dict[str, Any]) -> None:
    assert set(typed.__annotations__) == set(properties)
