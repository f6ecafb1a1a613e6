"""One mapping of a topology file: right values are read, wrong ones become faults with a line."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest

from mqkit.topology.file.document import parse_document
from mqkit.topology.file.fault import Fault
from mqkit.topology.file.section import INTEGER_BITS, MAX_SHORT_STRING_BYTES, Section, segment, show


class Fruit(StrEnum):
    APPLE = "apple"
    PEAR = "pear"


KEYS = ("name", "flag", "count", "wait", "fruit", "list", "map", "arguments")


def section(text: str, path: str = "at") -> Section:
    root, faults = parse_document(text)
    assert root is not None
    assert not faults
    return Section(root, path, KEYS, faults)


def read(text: str, reader: Callable[[Section], Any]) -> tuple[Any, list[Fault]]:
    found = section(text)
    return reader(found), found.faults


@pytest.mark.parametrize(
    ("text", "reader", "value"),
    [
        ("name: x", lambda s: s.text("name"), "x"),
        ('name: "1"', lambda s: s.text("name"), "1"),
        ("flag: false", lambda s: s.flag("flag", default=True), False),
        ("count: 3", lambda s: s.count("count", 3, 3), 3),
        ("count: 3", lambda s: s.number("count", 1, 3), 3.0),
        ("count: 0.25", lambda s: s.number("count", 0, 1), 0.25),
        ("wait: 2s", lambda s: s.duration("wait", 2000), 2000),
        ("fruit: pear", lambda s: s.choice("fruit", Fruit), Fruit.PEAR),
        ("list: [a, b]", lambda s: [path for path, _ in s.items("list", "names")],
         ["at.list[0]", "at.list[1]"]),
        ("map: {a.b: 1}", lambda s: [path for path, _ in s.entries("map", "names")],
         ["at.map.'a.b'"]),
        ("map:", lambda s: list(s.entries("map", "names")), []),
        ("arguments: {a: 1, b: [x, {c: true}]}", lambda s: s.arguments(),
         {"a": 1, "b": ["x", {"c": True}]}),
    ],
)  # fmt: skip
def test_a_right_value_is_read_without_a_fault(
    text: str, reader: Callable[[Section], Any], value: object
) -> None:
    assert read(text, reader) == (value, [])


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        (lambda s: s.text("name"), None),
        (lambda s: s.flag("flag", default=True), True),
        (lambda s: s.count("count", 0, 9), None),
        (lambda s: s.number("count", 0, 9), None),
        (lambda s: s.duration("wait", 1), None),
        (lambda s: s.choice("fruit", Fruit), None),
        (lambda s: list(s.items("list", "names")), []),
        (lambda s: s.arguments(), {}),
    ],
)
def test_a_missing_key_is_no_fault(reader: Callable[[Section], Any], value: object) -> None:
    assert read("{}", reader) == (value, [])


@pytest.mark.parametrize(
    ("text", "reader", "value", "message"),
    [
        ("name: 1", lambda s: s.text("name"), None,
         "1 is not text (quote it if it is a number)"),
        ("flag: 1", lambda s: s.flag("flag", default=True), True, "1 is not true or false"),
        ("count: 4", lambda s: s.count("count", 1, 3), None,
         "4 is not a whole number from 1 to 3"),
        ("count: true", lambda s: s.count("count", 1, 3), None,
         "true is not a whole number from 1 to 3"),
        ("count: 1.5", lambda s: s.number("count", 0, 1), None, "1.5 is not a number from 0 to 1"),
        ("count: true", lambda s: s.number("count", 0, 1), None,
         "true is not a number from 0 to 1"),
        ("count: nan", lambda s: s.number("count", 0, 1), None,
         "'nan' is not a number from 0 to 1"),
        ("wait: 1s", lambda s: s.duration("wait", 2000), None,
         "'1s' is too short (expected at least 2000ms)"),
        ("fruit: aple", lambda s: s.choice("fruit", Fruit), None,
         "'aple' is not known here (did you mean 'apple'?)"),
        ("fruit: [a]", lambda s: s.choice("fruit", Fruit), None,
         "a list is not known here (expected one of apple, pear)"),
        ("list: x", lambda s: list(s.items("list", "names")), [],
         "'x' is not a list of names"),
        ("map: x", lambda s: list(s.entries("map", "names to names")), [],
         "'x' is not a mapping of names to names"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_not_said_and_a_fault(
    text: str, reader: Callable[[Section], Any], value: object, message: str
) -> None:
    key = text.split(":")[0]
    assert read(f"\n{text}", reader) == (value, [Fault(2, f"at.{key}", message)])


def test_an_unknown_key_is_a_fault_on_its_own_line_and_is_not_there() -> None:
    found = section("name: x\nflga: true\n")
    assert found.faults == [Fault(2, "at", "unknown key 'flga' (did you mean 'flag'?)")]
    assert not found.has("flga")
    assert found.lines() == {"name": 1}


def test_what_is_no_mapping_is_one_fault_and_has_no_keys() -> None:
    found = section("[name]")
    assert not found.is_mapping
    assert [fault.message for fault in found.faults] == [
        f"a list is not a mapping with {', '.join(KEYS)}"
    ]
    assert found.text("name") is None


def test_a_missing_key_stands_on_the_line_of_the_section() -> None:
    found = section("\n\nname: x\nflag: true\n")
    assert (found.line_of("flag"), found.line_of("count")) == (4, 3)


def test_a_text_is_a_short_string_by_its_bytes() -> None:
    longest = "e" * MAX_SHORT_STRING_BYTES
    assert read(f"name: {longest}", lambda s: s.text("name")) == (longest, [])
    value, faults = read(f"name: {longest[:-1]}\u00e9", lambda s: s.text("name"))
    assert value == longest[:-1] + "\u00e9"
    assert [fault.message for fault in faults] == ["256 bytes long, over AMQP's limit of 255"]


@pytest.mark.parametrize(
    ("number", "fits"),
    [
        (2**INTEGER_BITS - 1, True),
        (2**INTEGER_BITS, False),
        (-(2**INTEGER_BITS), True),
        (-(2**INTEGER_BITS) - 1, False),
    ],
)
def test_a_number_of_a_table_has_64_bits_with_its_sign(number: int, fits: bool) -> None:
    value, faults = read(f"arguments: {{deep: [{number}]}}", lambda s: s.arguments())
    assert value == {"deep": [number]}
    assert [fault.path for fault in faults] == ([] if fits else ["at.arguments.deep[0]"])


def test_the_names_of_inner_tables_are_short_strings_too() -> None:
    name = "n" * (MAX_SHORT_STRING_BYTES + 1)
    _, faults = read(f"arguments: {{a: {{{name}: 1}}, {name}: 1}}", lambda s: s.arguments())
    assert [fault.path for fault in faults] == [f"at.arguments.a.{name}", f"at.arguments.{name}"]


def test_the_top_of_a_file_has_no_path_before_its_keys() -> None:
    assert section("name: x", path="").child("name") == "name"


@pytest.mark.parametrize(
    ("name", "part"), [("a-b_1", "a-b_1"), ("a.b", "'a.b'"), ("", "''"), ("a b", "'a b'")]
)
def test_a_name_is_quoted_where_it_could_be_read_as_several_parts(name: str, part: str) -> None:
    assert segment(name) == part


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("~", "nothing"),
        ("1.50", "1.50"),
        ("yes please", "'yes please'"),
        ("[]", "a list"),
        ("{}", "a mapping"),
        ("x" * 90, repr("x" * 80)),
        ("9" * 40, "9" * 40),
    ],
)
def test_a_value_is_shown_in_few_words(text: str, shown: str) -> None:
    node, _ = parse_document(text)
    assert node is not None
    assert show(node) == shown
