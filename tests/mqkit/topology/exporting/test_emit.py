"""Writing values so that they read back as themselves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mqkit.topology.exporting.emit import flow, scalar
from mqkit.topology.file.document import Entry, MappingNode, ScalarNode, parse_document
from mqkit.topology.file.variables import expand


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("delays.parked", "delays.parked"),
        ("5s", "5s"),
        ("true", '"true"'),
        ("5", '"5"'),
        ("", '""'),
        ("*.late", '"*.late"'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("a\nb\x07", '"a\\x0ab\\x07"'),
        ("Zürich", '"Zürich"'),
        ("\ufeff\u2028", '"\\ufeff\\u2028"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("${NAME}", '"$${NAME}"'),
        ("$x", '"$x"'),
    ],
)
def test_text_is_quoted_where_it_could_be_read_as_something_else(text: str, written: str) -> None:
    assert scalar(text) == written


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=255)
    | st.text("${}A:-", max_size=12)
)
@example("${HOME}")
def test_any_text_reads_back_as_key_and_as_value(text: str) -> None:
    parsed, faults = parse_document(f"{scalar(text)}: {scalar(text)}\n")
    assert not faults
    assert parsed is not None
    root, faults = expand(parsed, {"HOME": "/root"})
    assert not faults
    assert isinstance(root, MappingNode)
    assert root.entries == (Entry(text, 1, ScalarNode(1, text, text)),)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ([], "[]"),
        ({}, "{}"),
        ({"a": [1, {"b": "c d"}]}, '{a: [1, {b: "c d"}]}'),
    ],
)
def test_values_on_one_line(value: Any, written: str) -> None:
    assert flow(value) == written
