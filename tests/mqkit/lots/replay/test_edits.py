"""Changes of a message before it is replayed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import ConfigurationError
from mqkit.lots.replay.edits import (
    EDITED,
    EDITED_OCTETS_MAX,
    OLD_OCTETS_MAX,
    Change,
    Unfit,
    edited,
    set_edit,
    unset_edit,
)
from mqkit.wire import SizedInt

NOW = datetime(2025, 1, 2, tzinfo=UTC)


def done(body: bytes, *texts: str, **headers: Any) -> tuple[bytes, dict[str, Any], list[str]]:
    edits = [set_edit(text) if "=" in text else unset_edit(text) for text in texts]
    new, seen, changes = edited(body, headers, edits, NOW)
    return new, seen, [line for change in changes for line in change.lines()]


def test_a_field_is_set_and_the_old_value_is_shown_and_kept() -> None:
    body, headers, lines = done(b'{"to": "old", "n": 1}', "body.to=new@x.org")
    assert body == b'{"to":"new@x.org","n":1}'
    assert lines == ['- body.to: "old"', '+ body.to: "new@x.org"']
    assert json.loads(headers[EDITED]) == [{"path": "body.to", "at": NOW.isoformat(), "old": "old"}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("body.a=1", {"a": 1}),
        ('body.a="1"', {"a": "1"}),
        ("body.a=true", {"a": True}),
        ("body.a=NaN", {"a": "NaN"}),
        ("body.a=x=y", {"a": "x=y"}),
        ("body.a=", {"a": ""}),
        ('body.a={"b": [1]}', {"a": {"b": [1]}}),
        ("body.a.b.c=1", {"a": {"b": {"c": 1}}}),
        ('body["a=b"]=1', {"a=b": 1}),
    ],
)
def test_values_and_paths(text: str, expected: Any) -> None:
    assert json.loads(done(b"{}", text)[0]) == expected


def test_lists_and_taking_away() -> None:
    assert done(b'{"l":[{"a":1},2]}', "body.l[0].a=5", "body.l[1]")[0] == b'{"l":[{"a":5}]}'
    body, headers, lines = done(b'{"a": 1}', "body.b", "body.c.d")
    assert (body, headers, lines) == (b'{"a": 1}', {}, [])


def test_headers_keep_the_types_of_the_others() -> None:
    body, headers, lines = done(b"\xff", "header.x=1", "header.y", x=SizedInt("l", 5), y="gone")
    assert body == b"\xff"
    assert (headers["x"], "y" in headers) == (1, False)
    assert lines == [
        '- header.x: {"$amqp": "long", "value": 5}',
        "+ header.x: 1",
        '- header.y: "gone"',
    ]


def test_what_is_so_already_is_no_change() -> None:
    assert done(b'{"a": 1}', "body.a=1") == (b'{"a": 1}', {}, [])
    assert done(b'{"a": 1}', "body.a=true")[2] == ["- body.a: 1", "+ body.a: true"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"no json", "body.a=1"),
        (b"\xff", "body.a=1"),
        (b"[" * 100_000, "body.a=1"),
        (b"[1]", "body.a=1"),
        (b'{"a": 1}', "body.a.b=1"),
        (b'{"a": []}', "body.a[0]=1"),
        (b"{}", "body.a[0]=1"),
        (b'{"a": 1, "a": 2}', "body.b=1"),
        (b'{"a": 0.10000000000000000001}', "body.b=1"),
        (b'{"a": 1e999}', "body.b=1"),
        (b'{"a": NaN}', "body.b=1"),
    ],
)
def test_a_body_that_would_change_otherwise_is_not_touched(body: bytes, text: str) -> None:
    with pytest.raises(Unfit):
        done(body, text)


def test_the_account_of_changes_is_bounded() -> None:
    long = "x" * (OLD_OCTETS_MAX + 1)
    _, headers, _ = done(json.dumps({"a": long}).encode(), "body.a=1")
    (entry,) = json.loads(headers[EDITED])
    assert (entry["old_octets"], "old" in entry) == (len(long) + 2, False)
    for number in range(200):
        body = json.dumps({"a": f"{number} {'x' * 500}"}).encode()
        headers = done(body, "body.a=1", **headers)[1]
    assert len(headers[EDITED]) <= EDITED_OCTETS_MAX
    assert json.loads(headers[EDITED])[-1]["old"].startswith("199 ")


@pytest.mark.parametrize("before", [5, "no json", '{"a": 1}', "[" * 100_000])
def test_an_account_of_somebody_else_is_replaced(before: Any) -> None:
    _, headers, _ = done(b"{}", "body.a=1", **{EDITED: before})
    assert len(json.loads(headers[EDITED])) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [("body.a", "not FIELD=VALUE"), ("reason=1", "column 1: expected a field"), ("=1", "column 1")],
)
def test_a_change_that_can_not_be_read(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=f"--set .*{words}"):
        set_edit(text)
    with pytest.raises(ConfigurationError, match=r"--unset .*column"):
        unset_edit("attempts")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=4), json_values)
def test_everything_else_of_a_body_stays(body: dict[str, Any], value: Any) -> None:
    edit = set_edit(f"body.to={json.dumps(value)}")
    new, _, _ = edited(json.dumps(body).encode(), {}, [edit], NOW)
    assert json.loads(new) == {**body, "to": value}


def test_a_change_is_a_diff() -> None:
    assert Change("body.a", 1, 2).lines() == ("- body.a: 1", "+ body.a: 2")
