"""Bodies of HTTP requests: definitions, messages, and whatever else claims to be JSON."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from fuzz.target import Target
from reference_broker.http.definitions.file import DefinitionsFile
from reference_broker.http.definitions.topology_import import TopologyImport
from reference_broker.http.request.answer import ApiError
from reference_broker.http.request.body import decoded
from reference_broker.http.rows.message import header_of, payload_from_json, properties_from_json
from reference_broker.testing.lone_broker import LoneBroker


def check(data: bytes) -> None:
    """A file has faults, a message is refused: never is anything else raised. What was rehearsed
    without a fault can be declared."""
    try:
        body = decoded(data)
    except ApiError:
        return
    vhosts = LoneBroker().broker.vhosts
    imported = TopologyImport(_file(body, "/"), vhosts)
    deque(imported.rehearse(), maxlen=0)
    if not imported.faults:
        deque(imported.apply(vhosts), maxlen=0)
        assert not imported.overtaken
    _file(body, None)
    try:
        payload = payload_from_json(body.get("payload"), body.get("payload_encoding"))
        header_of(properties_from_json(body.get("properties")), payload)
    except ApiError:
        return


def _file(body: dict[str, Any], vhost: str | None) -> DefinitionsFile:
    file = DefinitionsFile()
    deque(file.read(body, vhost), maxlen=0)
    return file


def seeds() -> list[bytes]:
    definitions: dict[str, Any] = {
        "exchanges": [
            {"name": "e", "vhost": "/", "type": "topic", "durable": True, "auto_delete": False,
             "internal": False, "arguments": {"alternate-exchange": "amq.fanout"}}
        ],
        "queues": [
            {"name": "q", "vhost": "/", "durable": True, "auto_delete": False,
             "arguments": {"x-max-length": 5, "x-queue-type": "quorum"}}
        ],
        "bindings": [
            {"source": "e", "vhost": "/", "destination": "q", "destination_type": "queue",
             "routing_key": "a.*", "arguments": {}}
        ],
    }  # fmt: skip
    message = {
        "properties": {"delivery_mode": 2, "headers": {"a": [1, None, 2.5]}, "timestamp": 5},
        "routing_key": "k",
        "payload": "YWJj",
        "payload_encoding": "base64",
    }
    return [json.dumps(each).encode() for each in (definitions, message, {})]


TARGET = Target("json-bodies", check, seeds)
