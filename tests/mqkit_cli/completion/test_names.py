"""Questions for names, and the names that a shell may be given."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from mqkit_cli.completion.names import (
    EXCHANGES,
    NAMES_MAX,
    PARKING_LOTS,
    QUEUES,
    VHOSTS,
    Kind,
    names_in,
    question,
)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (QUEUES, "/api/queues/a%2Fb"),
        (PARKING_LOTS, "/api/queues/a%2Fb"),
        (EXCHANGES, "/api/exchanges/a%2Fb"),
        (VHOSTS, "/api/vhosts"),
    ],
)
def test_a_question_is_for_a_page_of_names_alone(kind: Kind, path: str) -> None:
    asked = urlsplit(question(kind, "a/b", "de.") or "")
    assert asked.path == path
    query = parse_qs(asked.query)
    assert query.pop("name")[0].startswith(r"^de\.")
    assert query == {
        "page": ["1"],
        "page_size": [str(NAMES_MAX)],
        "use_regex": ["true"],
        "columns": ["name"],
    }


@pytest.mark.parametrize(
    ("begun", "name", "fits"),
    [
        ("", "q.parked", True),
        ("q", "q.parked", True),
        ("q.par", "q.parked", True),
        ("q.parked", "q.parked", True),
        ("q.p", "q.parts.parked", True),
        ("q.parked", "q.parked.parked", True),
        ("q", "q", False),
        ("q", "q.parked.x", False),
        ("q.", "qx.parked", False),
        ("par", "q.parked", False),
    ],
)
def test_the_pattern_of_parking_lots(begun: str, name: str, fits: bool) -> None:
    query = parse_qs(urlsplit(question(PARKING_LOTS, "/", begun) or "").query)
    assert (re.search(query["name"][0], name) is not None) is fits


@pytest.mark.parametrize("begun", ["$(", "a b", "'", "a:b", "-x", "a\n"])
def test_nothing_is_asked_for_what_no_name_that_is_offered_begins_with(begun: str) -> None:
    assert question(QUEUES, "/", begun) is None


def answer(*names: object) -> bytes:
    return json.dumps({"items": [{"name": name} for name in names]}).encode()


def test_names_are_sorted_and_begin_with_what_was_typed() -> None:
    found = answer("b", "a.2", "a.1", "A.3", "a.1")
    assert names_in(found, QUEUES, "a") == ["a.1", "a.2"]
    assert names_in(found, VHOSTS, "") == ["A.3", "a.1", "a.2", "b"]
    assert names_in(answer("/", "", "Größe-1", "x+y_z"), VHOSTS, "") == ["/", "Größe-1", "x+y_z"]
    assert names_in(answer("q", "q.parked", ".parked"), PARKING_LOTS, "") == ["q.parked"]


@pytest.mark.parametrize(
    "name",
    [
        *("$(touch x)", "`touch x`", "a;b", "a b", "a\tb", "a\nb", "a'b", 'a"b', "a\\b", "a|b"),
        *("*", "a?", "~", "a&b", "<a", "(a)", "{a,b}", "!a", "#a", "\x1b[31m", "-rf", "a:b", "a=b"),
        *("a@b", "", None, 7),
    ],
)
def test_what_is_more_than_a_word_to_a_shell_is_not_offered(name: object) -> None:
    assert names_in(answer("plain", name), QUEUES, "") == ["plain"]


def test_a_broker_without_pages_gives_a_list_and_no_more_are_taken_than_asked_for() -> None:
    names = [{"name": f"q{number:04}"} for number in range(3 * NAMES_MAX)]
    assert names_in(json.dumps(names).encode(), QUEUES, "") == [
        f"q{number:04}" for number in range(NAMES_MAX)
    ]


@pytest.mark.parametrize(
    "found", [b"", b"{", b"{}", b"[1]", b'[{"nam": 1}]', b"7", b'{"items": 7}']
)
def test_an_answer_of_another_form_is_an_error_of_the_kinds_that_are_named(found: bytes) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        names_in(found, QUEUES, "")
