"""YAML text as a tree: lines, values, bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.topology.file import document
from mqkit.topology.file.document import (
    MAX_DEPTH,
    MAX_DOCUMENT_BYTES,
    MAX_ITEMS,
    MAX_NODES,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    parse_document,
    resolve_plain,
)


def read(text: str) -> Node:
    node, faults = parse_document(text)
    assert not faults
    assert node is not None
    return node


def said(text: str) -> list[tuple[int, str]]:
    return [(fault.line, fault.message) for fault in parse_document(text)[1]]


def test_nodes_know_their_lines() -> None:
    root = read("a: 1\nb:\n  - x\n  - {c: d}\n")
    assert isinstance(root, MappingNode)
    assert [(entry.key, entry.line) for entry in root.entries] == [("a", 1), ("b", 2)]
    items = root.entries[1].value
    assert isinstance(items, SequenceNode)
    assert [item.line for item in items.items] == [3, 4]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("1_000_000", 1_000_000),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("no", "no"),
        ("on", "on"),
        ("2024-01-01", "2024-01-01"),
        ("5s", "5s"),
        ("0x10", "0x10"),
        ("1__0", "1__0"),
        ("9" * 41, "9" * 41),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    assert resolve_plain(text) == value
    assert type(resolve_plain(text)) is type(value)


def test_quoted_scalars_are_text() -> None:
    root = read("a: '5'")
    assert isinstance(root, MappingNode)
    assert root.entries[0].value == ScalarNode(1, "5", "5")


def test_an_alias_stands_for_its_anchor() -> None:
    root = read("a: &x [1]\nb: *x\n")
    assert isinstance(root, MappingNode)
    assert root.entries[0].value == root.entries[1].value


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("# nothing\n", 1, "empty"),
        ("a: [1", 1, "not YAML"),
        ("a: 1\nb: c: d", 2, "not YAML"),
        ("a: 1\n\tb: 2", 2, "not YAML"),
        ("a: 1\nb: \x00", 2, "not YAML"),
        ("a: 1\na: 2", 2, "'a' is here twice (first in line 1)"),
        ("a: *b", 1, "no anchor &b"),
        ("a: &b [*b]", 1, "no anchor &b"),
        ("a: 1\nb: !!python/object:os.system ls", 2, "the tag"),
        ("a: !!int 5", 1, "the tag"),
        ("? [a]\n: 1", 1, "a key that is a collection"),
        ("---\na: 1\n---\nb: 2\n", 3, "a second document"),
        ('a: "\\ud800"', 1, "surrogate"),
    ],
)
def test_faults_of_form_have_lines(text: str, line: int, words: str) -> None:
    ((found_line, message),) = said(text)
    assert found_line == line
    assert words in message


def test_the_bound_on_size() -> None:
    assert said("# " + "x" * (MAX_DOCUMENT_BYTES - 2))[0][1].startswith("the file is empty")
    assert "larger than" in said("# " + "x" * (MAX_DOCUMENT_BYTES - 1))[0][1]


def test_the_bound_on_depth() -> None:
    read("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert "nested deeper" in said("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))[0][1]
    assert "nested deeper" in said("[" * 100_000)[0][1]


def test_an_alias_is_as_deep_as_what_it_stands_for() -> None:
    """A chain of them was a RecursionError of whoever read the tree."""
    inner = MAX_DEPTH // 2 - 1
    base = f"a: &a {'[' * inner}{']' * inner}"
    read(f"{base}\nb: {'[' * (MAX_DEPTH - inner - 1)}*a{']' * (MAX_DEPTH - inner - 1)}")
    ((line, message),) = said(
        f"{base}\nb: {'[' * (MAX_DEPTH - inner)}*a{']' * (MAX_DEPTH - inner)}"
    )
    assert (line, message) == (2, f"nested deeper than {MAX_DEPTH} levels, the limit")
    chain = "\n".join(f"a{n}: &a{n} [[*a{n - 1}]]" for n in range(1, 500))
    ((line, _),) = said(f"a0: &a0 []\n{chain}")
    assert line <= MAX_DEPTH


@pytest.mark.parametrize(
    ("opening", "item", "closing"), [("[", "x", "]"), ("{", "k{}: x", "}"), ("[", "[]", "]")]
)
def test_the_bound_on_items(
    opening: str, item: str, closing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small one: the largest documents take seconds each."""
    monkeypatch.setattr(document, "MAX_ITEMS", 50)

    def text(count: int) -> str:
        return opening + ", ".join(item.format(n) for n in range(count)) + closing

    read(text(50))
    ((_, message),) = said(text(51))
    assert message == "more than 50 in one mapping or list, the limit"


def test_as_many_items_as_are_said_can_be_read() -> None:
    read("[" + ", ".join(MAX_ITEMS * ["x"]) + "]")


def test_lines_are_made_by_whoever_has_several_files() -> None:
    root, faults = parse_document("a: 1\na: 2", lambda number: number + 100)
    assert isinstance(root, MappingNode)
    assert root.entries[0].line == 101
    assert faults[0].line > 100


def test_a_billion_laughs_are_refused_before_they_are_laughed() -> None:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    ((line, message),) = said("\n".join(lines))
    assert str(MAX_NODES) in message
    assert line <= len(lines)


@given(st.text())
def test_any_text_is_a_tree_or_faults(text: str) -> None:
    node, faults = parse_document(text)
    assert node is not None or faults


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%,?\n \t0\\~<", max_size=60))
def test_any_text_of_yamls_own_letters_is_a_tree_or_faults(text: str) -> None:
    node, faults = parse_document(text)
    assert node is not None or faults
