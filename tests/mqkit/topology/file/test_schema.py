"""The JSON Schema: equal to the one that is shipped, and of one mind with the reader.

A case is a small file that is made of one value at one place. ``RIGHT`` files have nothing wrong;
``FORM`` is for what a schema can see; ``MEANING`` for what only ``validate`` knows: names of other
objects, rings, and limits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from importlib.resources import files
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from mqkit.topology.file.read import EXCHANGE_KEYS, QUEUE_KEYS, TOPOLOGY_KEYS, check
from mqkit.topology.file.retry_section import RETRY_KEYS
from mqkit.topology.file.schema import topology_schema

VARIABLES = {"NAME": "email", "NUMBER": "7", "FLAG": "true", "TIME": "5s", "WORD": "drop-head"}


class Wrong(StrEnum):
    """The kinds of verdicts."""

    RIGHT = "right"
    FORM = "form"
    MEANING = "meaning"


class Case(NamedTuple):
    """A file, and its verdict."""

    verdict: Wrong
    text: str


_FLAGS = (("true", "false", "${FLAG}"), ("yes", "1", '"true"', "[]", "", "${9}"))
_COUNTS = (("1", "7", "1_0", "${NUMBER}"), ("-1", "many", "1.5", "true", "[1]", ""))
_TIMES = (
    ("1s", "0.5s", "1m30s", "200ms", "${TIME}", "${NO:-1h}"),
    ("5", "soon", "5 s", "1s1m", "s", "0s", "[1s]", "{}", "true"),
)
_TEXTS = (("a", '"5"', "é", "${NAME}", "$${a}", "a$b"), ("5", "true", "[a]", "${", ""))

_QUEUE_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "type": (("classic", "quorum"), ("lazy", "5", "[classic]", ""), ()),
    "durable": (*_FLAGS, ()),
    "exclusive": (*_FLAGS, ()),
    "auto_delete": (*_FLAGS, ()),
    "max_priority": (*_COUNTS, ()),
    "message_ttl": (("0s", *_TIMES[0]), tuple(t for t in _TIMES[1] if t != "0s"), ("50d",)),
    "expires": (*_TIMES, ("50d", "0.0001s")),
    "dead_letter": (
        ('{exchange: "", key: other}', "{exchange: topic}", '{exchange: "${NO:-topic}"}'),
        ("{key: other}", "topic", "[]", "{exchange: 5}", "{exchange: topic, keys: a}", ""),
        ("{exchange: nowhere}", '{exchange: "", key: nobody}'),
    ),
    "bind": (
        ("[]", "[{from: topic}]", '[{from: topic, key: "#", arguments: {a: [1, {b: 2}]}}]'),
        ("topic", "[topic]", "[{key: a}]", "[{from: topic, to: b}]", "[{from: 5}]", ""),
        ("[{from: nowhere}]", '[{from: ""}]'),
    ),
    "arguments": (
        ("{x-a: 5, x-b: {c: [1, true]}}", "{}", ""),
        ("[1]", "5", "x"),
        ("{x-long: 99999999999999999999}", "{x-message-ttl: 5}\n    message_ttl: 6s"),
    ),
    "retry": (
        (
            *("{after: [1s]}", "{after: [1s, 1s, 5s], then: drop}", "{from: 1s, times: 3}"),
            "{from: 1s, times: 3, factor: 1.5, most: 1m, jitter: 0.2, give_up_after: 1h}",
            "{after: [1s], errors: {TimeoutError: [5s], a.B: park}}",
            "{after: [1s], errors: }",
        ),
        (
            *("{}", "5s", "[1s]", "{after: 1s}", "{after: []}", "{after: [0s]}", "{then: drop}"),
            *("{after: [1s], from: 1s}", "{after: [1s], from: 1s, times: 3}", "{from: 1s}"),
            *("{times: 3}", "{from: 1s, times: 0}", "{from: 1s, times: 33}", "{after: [1]}"),
            *("{from: 1s, times: 3, factor: 0.5}", "{from: 1s, times: 3, jitter: 1}"),
            *("{after: [1s], then: wait}", "{after: [1s], than: drop}", ""),
            *("{after: [1s], errors: {A: wait}}", "{after: [1s], errors: [A]}"),
        ),
        (
            "{after: [5s, 1s]}",
            "{after: [1m], give_up_after: 1s}",
            "{after: [1s], errors: {5: park}}",
        ),
    ),
}
_EXCHANGE_KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "type": (("direct", "headers", "x-own", "${NO:-fanout}"), ("topik", "5", "[topic]", ""), ()),
    "durable": (*_FLAGS, ()),
    "auto_delete": (*_FLAGS, ()),
    "internal": (*_FLAGS, ()),
    "external": (("true", "false"), ("yes", "true\n    type: topic"), ()),
    "alternate": (("topic", "amq.fanout"), ("5", "[topic]", ""), ("nowhere",)),
    "delays": (("[5m, 1h]", "[]"), ("5m", "[5]", "[soon]", "[0s]", ""), ()),
    "bind": (("[{from: topic, key: a}]",), ("[{}]", "{}"), ("[{from: e}]",)),
}
_WHOLE: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "{}": (
        ("{}", "queues:", "exchanges:", "queues: {}", "vhost: /shop"),
        ("5", "[]", "queue: {}", "queues: 5", "queues: []", "vhost:", "x: 1", "~"),
        ("queues: {amq.x: {}}", 'queues: {"": {}}', 'exchanges: {"": {external: true}}'),
    ),
    "names": (
        ("queues:\n  ${NAME}:\n  x${NAME}: {}", "queues:\n  $${a}:", "queues: {5: {}}"),
        ("queues:\n  ${9}: {}", "queues: {a: 5}", "queues: {a: []}", f"queues: {{{'x' * 256}: }}"),
        (f"queues: {{{'é' * 128}: }}", "queues:\n  a: {max_length: 5}"),
    ),
    "lengths": (
        tuple(f"queues:\n  q:\n    max_length: {n}\n    overflow: ${{WORD}}" for n in _COUNTS[0]),
        tuple(f"queues:\n  q:\n    max_length: {n}\n    overflow: drop-head" for n in _COUNTS[1]),
        ("queues:\n  q: {max_length_bytes: 0}",),
    ),
    "texts": (
        tuple(f"vhost: {text}" for text in _TEXTS[0]),
        tuple(f"vhost: {text}" for text in _TEXTS[1]),
        (),
    ),
}


def cases() -> Iterator[Case]:
    """Every case of the tables."""
    around = "exchanges:\n  topic: {type: topic}\n"
    for key, columns in _QUEUE_KEYS.items():
        yield from _cases(columns, f"{around}queues:\n  other:\n  q:\n    {key}: ")
    for key, columns in _EXCHANGE_KEYS.items():
        yield from _cases(columns, f"{around}  e:\n    {key}: ")
    for columns in _WHOLE.values():
        yield from _cases(columns, "")
    for wrong in ("typ: topic", "max_lenght: 5", "retries: {after: [1s]}"):
        yield Case(Wrong.FORM, f"queues:\n  q:\n    {wrong}\n")
        yield Case(Wrong.FORM, f"exchanges:\n  e:\n    {wrong}\n")


def _cases(columns: tuple[tuple[str, ...], ...], before: str) -> Iterator[Case]:
    for verdict, values in zip(Wrong, columns, strict=True):
        for value in values:
            yield Case(verdict, f"{before}{value}\n")


CASES = list(cases())
CASES_MIN = 200
SCHEMA = topology_schema()


def accepts(text: str) -> bool:
    """The schema's verdict, on the file as an editor's parser reads it: with keys that are text."""
    value = YAML(typ="safe", pure=True).load(text)
    return bool(Draft7Validator(SCHEMA).is_valid(json.loads(json.dumps(value))))


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_the_schema_that_is_shipped_is_this_one() -> None:
    """`mqkit topology schema > mqkit/topology/file/schema.json` makes them equal again."""
    shipped = files("mqkit.topology.file").joinpath("schema.json").read_text("utf-8")
    assert json.loads(shipped) == SCHEMA


def test_there_are_enough_cases_of_each_kind_and_none_twice() -> None:
    assert len(set(CASES)) == len(CASES) >= CASES_MIN
    for verdict in Wrong:
        assert sum(case.verdict is verdict for case in CASES) > 15


@pytest.mark.parametrize("case", CASES, ids=[f"{case.verdict}-{n}" for n, case in enumerate(CASES)])
def test_schema_and_reader_are_of_one_mind(case: Case) -> None:
    _, faults = check(case.text, variables=VARIABLES)
    assert (accepts(case.text), not faults) == {
        Wrong.RIGHT: (True, True),
        Wrong.FORM: (False, False),
        Wrong.MEANING: (True, False),
    }[case.verdict], (case.text, faults)


@pytest.mark.parametrize(
    ("known", "properties"),
    [
        (TOPOLOGY_KEYS, SCHEMA["properties"]),
        (EXCHANGE_KEYS, SCHEMA["definitions"]["exchange"]["properties"]),
        (QUEUE_KEYS, SCHEMA["definitions"]["queue"]["properties"]),
        (RETRY_KEYS, SCHEMA["definitions"]["retry"]["properties"]),
    ],
)
def test_every_key_that_is_read_is_in_the_schema_with_words(
    known: tuple[str, ...], properties: dict[str, Any]
) -> None:
    assert set(known) <= set(properties)
    assert all(properties[key]["description"].endswith(".") for key in properties)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "policies: {p: {pattern: '^a', definition: {max-length: 10}}}",
            "policies: {p: {pattern: '^a'}}",
        ),
        (
            "policies: {p: {pattern: a, apply_to: streams, priority: 3, definition: {}}}",
            "policies: {p: {pattern: a, apply-to: streams, definition: {}}}",
        ),
        (
            "policies: {p: {pattern: a, apply_to: all, definition: {}}}",
            "policies: {p: {pattern: a, apply_to: bindings, definition: {}}}",
        ),
        ("queues: {q: {via_policy: [max_length]}}", "queues: {q: {via_policy: [durable]}}"),
        ("queues: {q: {via_policy: []}}", "queues: {q: {via_policy: max_length}}"),
        (
            "queues: {q: {retry: {after: [1s], park: lot, tiers: 'q.{after}'}}}",
            "queues: {q: {retry: {after: [1s], park: [lot]}}}",
        ),
        ("policies: {p: {pattern: a, priority: -1.5, definition: }}", "policies: {p: }"),
        ("queues: {q: {alert: {depth: 5}}}", "queues: {q: {alert: {age: 5s}}}"),
        (
            "queues: {q: {external: true, alert: {depth: 5}}}",
            "exchanges: {e: {external: true, alert: {depth: 5}}}",
        ),
        ("lots: {lot: {replay: {every: 1h, at_most: 3}}}", "lots: {lot: {replay: {every: 1h}}}"),
        (
            "lots: {lot: {replay: {every: 1h, at_most: 10}}}",
            "lots: {lot: {replay: {every: 1h, at_most: 11}}}",
        ),
        (
            "lots: {lot: {archive: {after: 1d, to: 'a/{date}.jsonl.gz'}}}",
            "lots: {lot: {archive: {after: 1d, to: 'a/{date}'}}}",
        ),
        (
            "lots: {lot: {archive: {after: 1d, to: '${FOLDER}/{date}.jsonl.gz'}}}",
            "lots: {lot: {archive: {after: 1d}}}",
        ),
        ("lots: {lot: {alert: {depth: 100, age: 1h}}}", "lots: {lot: {alert: {deep: 100}}}"),
        ("lots: {lot: {alert: {age: 1h}}}", "lots: {lot: {alert: {}}}"),
        ("lots:", "lots: {lot: {}}"),
    ],
)
def test_sections_of_policies_and_lots(right: str, wrong: str) -> None:
    assert accepts(right)
    assert not accepts(wrong)
