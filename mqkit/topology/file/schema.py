"""The form of a topology file as a JSON Schema (draft 7, which editors read). Pure.

It says what is wrong in form: unknown keys, values of another kind, words that are not known.
Names of other objects, rings and limits over the whole file stay :func:`validate`'s. A variable may
stand for any value, and for any key.

The schema is also in the package as ``schema.json``, for editors; ``mqkit topology schema`` prints
it, and a test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from mqkit.retry.duration import UNITS_MS
from mqkit.retry.growth import MAX_FACTOR, MAX_JITTER
from mqkit.retry.headers import MAX_REPLAYS
from mqkit.retry.then import Then
from mqkit.retry.waiting_times import MAX_WAITING_TIMES
from mqkit.topology.file.read import MAX_LENGTH, MAX_PRIORITY, PLUGIN_PREFIX, ExchangeType
from mqkit.topology.file.section import MAX_SHORT_STRING_BYTES
from mqkit.topology.model import Overflow, QueueType

Schema: TypeAlias = dict[str, Any]

_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_DEFAULT = r"(:-([^}$]|\$(?!\{))*)?"
_VARIABLE = rf"\$\{{{_NAME}{_DEFAULT}\}}"
_WITH_VARIABLE = rf"(^|[^$]){_VARIABLE}"
_TEXT = rf"^([^$]|\$(?!\{{)|\$\$\{{|{_VARIABLE})*$"
"""Every ``${`` of it is a variable, or doubled."""
_NUMBER = r"[0-9]{1,12}(\.[0-9]{1,12})?"
_DURATION = rf"^\s*(?=[0-9]){''.join(f'({_NUMBER}{unit})?' for unit in UNITS_MS)}\s*$"

POLICED_KEYS = (
    *("max_length", "max_length_bytes", "overflow", "message_ttl"),
    *("expires", "dead_letter"),
)
APPLY_TO = ("all", "queues", "classic_queues", "quorum_queues", "streams", "exchanges")
MAX_POLICY_PRIORITY = 2**53
"""Either way: above it a JSON number is not exact."""
ARCHIVES = r"\.jsonl\.gz$"


def topology_schema() -> Schema:
    """The schema of a whole file, as plain values for JSON."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "mqkit topology",
        "description": "Exchanges, queues and bindings, and what becomes of failures.",
        **_object(
            {
                "vhost": _said(_ref("short"), "The virtual host that the file is for."),
                "exchanges": _said(_names(_ref("exchange")), "Exchanges by name."),
                "queues": _said(_names(_ref("queue")), "Queues by name."),
                "policies": _said(_names(_policy()), "Policies by name, as RabbitMQ has them."),
                "lots": _said(_names(_lot()), "Parking lots by name: what the clock does there."),
            }
        ),
        "definitions": {
            "variable": {"type": "string", "pattern": _WITH_VARIABLE},
            "text": {"type": "string", "pattern": _TEXT},
            "short": {
                "allOf": [_ref("text")],
                "anyOf": [{"maxLength": MAX_SHORT_STRING_BYTES}, _ref("variable")],
            },
            "flag": _or_variable({"type": "boolean"}),
            "duration": _or_variable({"type": "string", "pattern": _DURATION}),
            "time": _or_variable(
                {"type": "string", "pattern": _DURATION, "allOf": [{"pattern": "[1-9]"}]}
            ),
            "times": {"type": "array", "items": _ref("time"), "minItems": 1},
            "table": {"type": ["object", "null"], "propertyNames": _ref("short")},
            "bindings": {"type": "array", "items": _binding()},
            "exchange": _exchange(),
            "queue": _queue(),
            "retry": _retry(),
        },
    }


def _exchange() -> Schema:
    plugin = {"type": "string", "pattern": f"^{PLUGIN_PREFIX}"}
    types = {"anyOf": [_words(ExchangeType), plugin]}
    return _declared(
        {
            "type": _said(types, "direct without it; types that begin with x- are plugins'."),
            "durable": _said(_ref("flag"), "Survives a restart of the broker; true without it."),
            "auto_delete": _said(_ref("flag"), "Deleted when its last binding goes."),
            "internal": _said(_ref("flag"), "Takes only what other exchanges give it."),
            "external": _said(_ref("flag"), "Somebody else's: referred to, never declared."),
            "alternate": _said(_ref("short"), "The exchange that gets what is unroutable here."),
            "delays": _said(
                {"type": "array", "items": _ref("time")}, "Times that messages for it may wait."
            ),
            "bind": _said(_ref("bindings"), "Bindings from other exchanges to this one."),
            "arguments": _said(_ref("table"), "Passed to the broker as they are."),
        },
        "external",
    )


def _queue() -> Schema:
    length = _count(0, MAX_LENGTH)
    policed = {"type": "array", "uniqueItems": True, "items": _words(POLICED_KEYS)}
    return _declared(
        {
            "type": _said(_words(QueueType), "x-queue-type; not sent without it."),
            "durable": _said(_ref("flag"), "Survives a restart of the broker; true without it."),
            "exclusive": _said(_ref("flag"), "Of one connection."),
            "auto_delete": _said(_ref("flag"), "Deleted when its last consumer goes."),
            "external": _said(_ref("flag"), "Somebody else's: referred to, never declared."),
            "bind": _said(_ref("bindings"), "Bindings from exchanges to this queue."),
            "max_length": _said(length, "x-max-length: ready messages."),
            "max_length_bytes": _said(length, "x-max-length-bytes: the bytes of their bodies."),
            "overflow": _said(_words(Overflow), "x-overflow: what a full queue does."),
            "message_ttl": _said(_ref("duration"), "x-message-ttl: how long a message may wait."),
            "expires": _said(_ref("time"), "x-expires: the queue goes when unused for so long."),
            "max_priority": _said(_count(1, MAX_PRIORITY), "x-max-priority."),
            "dead_letter": _said(
                _object({"exchange": _ref("short"), "key": _ref("short")}, "exchange"),
                'The dead-letter target; the exchange "" is the default one.',
            ),
            "retry": _said(_ref("retry"), "What becomes of a message whose handler fails."),
            "via_policy": _said(policed, "Keys that go into a policy of the queue's own."),
            "alert": _said(
                _object({"depth": _count(1, MAX_LENGTH)}, "depth"),
                "Beyond this depth there is an alert.",
            ),
            "arguments": _said(_ref("table"), "Passed to the broker as they are."),
        },
        "external",
        "alert",
    )


def _binding() -> Schema:
    return _object(
        {
            "from": _said(_ref("short"), "The exchange."),
            "key": _said(_ref("short"), "The binding key."),
            "arguments": _said(_ref("table"), "For headers exchanges."),
        },
        "from",
    )


def _retry() -> Schema:
    listed = {"after": _said(_ref("times"), "The waiting time before each retry.")}
    grown = {
        "from": _said(_ref("time"), "The first waiting time."),
        "factor": _said(_number(1, MAX_FACTOR), "Each is so much longer; 2 without it."),
        "most": _said(_ref("time"), "No waiting time is longer."),
        "times": _said(_count(1, MAX_WAITING_TIMES), "The number of retries."),
        "jitter": _said(_number(0, MAX_JITTER), "A share of the waiting time."),
    }
    rule = {"anyOf": [_words(Then), _ref("times")]}
    others = {
        "errors": _said(_names(rule), "Exception names to waiting times, park or drop."),
        "give_up_after": _said(_ref("time"), "No retry ends later after the first failure."),
        "then": _said(_words(Then), "The end, after the last retry."),
        "park": _said(_ref("short"), "The name of the parking lot, where it has one already."),
        "tiers": _said(_ref("short"), "The names of the tiers: a pattern with {after} in it."),
    }
    return {
        **_object(listed | grown | others),
        "oneOf": [
            {"required": ["after"], "not": {"anyOf": [{"required": [key]} for key in grown]}},
            {"required": ["from", "times"], "not": {"required": ["after"]}},
        ],
    }


def _policy() -> Schema:
    return _object(
        {
            "pattern": _said(_ref("text"), "A regular expression that names match."),
            "apply_to": _said(_words(APPLY_TO), "all without it."),
            "priority": _said(
                _number(-MAX_POLICY_PRIORITY, MAX_POLICY_PRIORITY),
                "Of several, the one with the highest applies.",
            ),
            "definition": _said(_ref("table"), "RabbitMQ's own keys, like max-length."),
        },
        "pattern",
        "definition",
    )


def _lot() -> Schema:
    replay = {"every": _ref("time"), "at_most": _count(1, MAX_REPLAYS)}
    to = {"anyOf": [{"type": "string", "pattern": ARCHIVES}, _ref("variable")]}
    archive = {"after": _ref("time"), "to": to}
    alert = {"depth": _count(1, MAX_LENGTH), "age": _ref("time")}
    lot = {
        "replay": _said(_object(replay, *replay), "Messages go back after so long, so often."),
        "archive": _said(_object(archive, *archive), "Messages go into files after so long."),
        "alert": _said(
            _object(alert) | {"minProperties": 1}, "Beyond this depth or age there is an alert."
        ),
    }
    return _object(lot) | {"minProperties": 1}


def _object(properties: Mapping[str, Schema], *required: str) -> Schema:
    found: Schema = {
        "type": "object",
        "properties": dict(properties),
        "patternProperties": {_WITH_VARIABLE: {}},
        "additionalProperties": False,
    }
    return found | ({"required": list(required)} if required else {})


def _declared(properties: Mapping[str, Schema], *of_external: str) -> Schema:
    """An object with a name: nothing after the name is one with no key set, and an external one
    has no keys but ``of_external``."""
    external = {"properties": {"external": {"const": True}}, "required": ["external"]}
    return {
        **_object(properties),
        "type": ["object", "null"],
        "if": {"type": "object", **external},
        "then": {"propertyNames": {"enum": list(of_external)}},
    }


def _names(values: Schema) -> Schema:
    return {
        "type": ["object", "null"],
        "propertyNames": _ref("short"),
        "additionalProperties": values,
    }


def _words(words: Any) -> Schema:
    return _or_variable({"enum": [str(word) for word in words]})


def _count(least: int, most: int) -> Schema:
    return _or_variable({"type": "integer", "minimum": least, "maximum": most})


def _number(least: float, most: float) -> Schema:
    return _or_variable({"type": "number", "minimum": least, "maximum": most})


def _or_variable(schema: Schema) -> Schema:
    return {"anyOf": [schema, _ref("variable")]}


def _said(schema: Schema, description: str) -> Schema:
    """``schema`` with words for who writes a file. A ``$ref`` takes no others beside it."""
    inner = {"allOf": [schema]} if "$ref" in schema else schema
    return {"description": description, **inner}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}
