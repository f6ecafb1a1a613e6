"""Bodies and properties of what is published."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from mqkit.errors import ConfigurationError
from mqkit.publishing.message_options import with_options
from mqkit.publishing.outgoing import JSON, OCTETS, TEXT, encode, outgoing, with_body


class Model(BaseModel):
    at: datetime


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("body", "octets", "content_type"),
    [
        (b"\xff", b"\xff", OCTETS),
        (bytearray(b"a"), b"a", OCTETS),
        (memoryview(b"a"), b"a", OCTETS),
        ("grün", "grün".encode(), TEXT),
        ({"a": [1, None]}, b'{"a":[1,null]}', JSON),
        ([], b"[]", JSON),
        (None, b"null", JSON),
        (Point(1), b'{"x":1}', JSON),
    ],
)
def test_the_content_type_says_what_the_body_is(
    body: Any, octets: bytes, content_type: str
) -> None:
    assert encode(body) == (octets, content_type)


def test_a_model_is_json() -> None:
    octets, content_type = encode(Model(at=datetime(2026, 1, 2, tzinfo=UTC)))
    assert json.loads(octets) == {"at": "2026-01-02T00:00:00Z"}
    assert content_type == JSON


def test_what_json_cant_carry_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="body of type object"):
        encode(object())


def test_a_message_is_persistent_mandatory_and_has_an_id() -> None:
    one, two = outgoing("x", "key", b"a"), outgoing("x", "key", b"a")
    assert one.properties.persistent
    assert one.mandatory
    assert one.properties.message_id
    assert one.properties.message_id != two.properties.message_id


def test_id_and_headers_are_the_callers_if_given() -> None:
    headers = {"trace": "t"}
    message = outgoing("x", "key", b"a", message_id="mine", headers=headers)
    headers.clear()
    assert message.properties.message_id == "mine"
    assert message.properties.headers == {"trace": "t"}


def test_options_are_the_properties_of_the_same_name() -> None:
    bare = outgoing("x", "key", "text", message_id="m", headers={"h": 1})
    given = outgoing("x", "key", "text", message_id="m", headers={"h": 1}, priority=3, type="t")
    assert given == with_options(bare, priority=3, type="t")
    assert outgoing("x", "key", b"", mandatory=False).mandatory is False
    with pytest.raises(ConfigurationError, match="priority=256"):
        outgoing("x", "key", b"", priority=256)


@pytest.mark.parametrize("body", [b"octets", "text", {"a": 1}, Point(1)])
def test_a_body_that_comes_later_is_as_if_it_had_been_there(body: Any) -> None:
    draft = outgoing("x", "key", b"", message_id="m", type="t", mandatory=False)
    assert with_body(draft, body) == outgoing(
        "x", "key", body, message_id="m", type="t", mandatory=False
    )
    assert draft == replace(draft, body=b"")


class Words(BaseModel):
    text: str


@pytest.mark.parametrize("body", ["\ud800", Words(text="\ud800"), {"a": "\ud800"}])
def test_half_a_character_is_refused_in_any_kind_of_body(body: object) -> None:
    with pytest.raises(ConfigurationError, match="can't be published"):
        encode(body)


class Measured(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="constants")

    value: float
    unit: str = ""


@pytest.mark.parametrize(
    "body",
    [math.nan, [1.0, -math.inf], {"a": {"b": math.inf}}, Measured(value=math.nan)],
)
def test_a_number_that_json_has_not_is_refused(body: object) -> None:
    with pytest.raises(ConfigurationError, match=r"can't be published: it holds -?(NaN|Infinity)"):
        encode(body)


@pytest.mark.parametrize("body", [{"NaN": "Infinity"}, Measured(value=1, unit='"NaN, -Infinity')])
def test_the_names_of_such_numbers_are_text_like_any_other(body: object) -> None:
    octets, _ = encode(body)
    assert b"NaN" in octets


@pytest.mark.parametrize("headers", ["text", [1], 3])
def test_headers_are_a_mapping(headers: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected a mapping"):
        outgoing("x", "key", b"", headers=headers)


@pytest.mark.parametrize("value", [math.nan, math.inf, [math.nan], {"deep": (1, -math.inf)}])
def test_a_float_that_would_end_the_connection_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="'h' holds a float"):
        outgoing("x", "key", b"", headers={"h": value})
