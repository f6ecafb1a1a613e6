"""Variables: what they become, and everything that is refused, with its line."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mqkit.topology.file.document import (
    MAX_DOCUMENT_BYTES,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    parse_document,
)
from mqkit.topology.file.variables import escaped, expand

VARIABLES = {
    "NAME": "email",
    "NUMBER": "100",
    "EMPTY": "",
    "NESTED": "${NAME}",
    "BAD": "\udcff",
    "MEGABYTE": "x" * (1 << 20),
}


def expanded(text: str) -> tuple[Node, list[tuple[int, str]]]:
    root, faults = parse_document(text)
    assert root is not None
    assert not faults
    root, faults = expand(root, VARIABLES)
    return root, [(fault.line, fault.message) for fault in faults]


def value_of(scalar: str) -> object:
    root, faults = expanded(f"- {scalar}")
    assert faults == []
    assert isinstance(root, SequenceNode)
    (item,) = root.items
    assert isinstance(item, ScalarNode)
    return item.value


def keys_of(text: str) -> list[str]:
    root, _ = expanded(text)
    assert isinstance(root, MappingNode)
    return [entry.key for entry in root.entries]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${NAME}", "email"),
        ("${NAME}-queue", "email-queue"),
        ("${NAME}.${NAME}", "email.email"),
        ("${NUMBER}", 100),
        ('"${NUMBER}"', "100"),
        ("'${NUMBER}'", "100"),
        ("${NUMBER}s", "100s"),
        ("${NOTHING:-5}", 5),
        ("${NOTHING:-true}", True),
        ("${NOTHING:-a-:-b}", "a-:-b"),
        ("${EMPTY:-x}", "x"),
        ('"${NOTHING:-}"', ""),
        ("${NOTHING:-}", None),
        ("${NAME:-other}", "email"),
        ("$${NAME}", "${NAME}"),
        ("$$${NAME}", "$${NAME}"),
        ("$NAME $$ $ 5$", "$NAME $$ $ 5$"),
        ('"a\\x24{NAME}"', "aemail"),
        ('"{NAME}"', "{NAME}"),
    ],
)
def test_a_value_is_expanded_and_understood_as_what_was_written_would_be(
    written: str, value: object
) -> None:
    assert value_of(written) == value
    assert type(value_of(written)) is type(value)


def test_keys_are_expanded_too() -> None:
    assert keys_of("${NAME}: 1\na${NUMBER}: 2\n$${x}: 3") == ["email", "a100", "${x}"]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("${NOTHING}", "${NOTHING} has no value and no default (set NOTHING, or write"),
        ("${EMPTY}", "${EMPTY} has no value and no default"),
        ("${NESTED}", "the value of NESTED has a variable in it"),
        ("${BAD}", "the value of BAD is not UTF-8 text"),
        ("${A:-${NAME}}", "has a variable in its default"),
        ("${NAME:-${NAME}}", "has a variable in its default"),
        ("${}", "'${}' is not a variable (expected ${NAME} or ${NAME:-default}; $${ is"),
        ("${9}", "'${9}' is not a variable"),
        ("${A-b}", "'${A-b}' is not a variable"),
        ("${NAME", "'${NAME' has no end"),
        ("${NAME} ${", "'${' has no end"),
        ("${Ü}", "is not a variable"),
    ],
)
@pytest.mark.parametrize("shape", ["a: 1\nb:\n  - x\n  - {}", "a: 1\nb:\n  c: 3\n  {}: 5"])
def test_what_can_not_be_had_is_a_fault_with_its_line(shape: str, written: str, words: str) -> None:
    _, faults = expanded(shape.replace("{}", written))
    ((line, message),) = faults
    assert line == 4
    assert words in message


def test_two_keys_that_become_one_are_a_fault_with_both_lines() -> None:
    for first, second in (("${NAME}", "email"), ("email", "${NAME}"), ("${A:-email}", "${NAME}")):
        _, faults = expanded(f"{first}: 1\n{second}: 2")
        assert faults == [(2, "the key 'email' is here twice with its variables (first in line 1)")]


def test_an_alias_is_blamed_once() -> None:
    _, faults = expanded("a: &a [x, '${NOTHING}']\nb: *a\nc: [*a, *a]")
    assert len(faults) == 1


def test_what_variables_make_is_bounded() -> None:
    most = MAX_DOCUMENT_BYTES // len(VARIABLES["MEGABYTE"])
    assert expanded("\n".join(["- ${MEGABYTE}"] * most))[1] == []
    _, faults = expanded("\n".join(["- ${MEGABYTE}"] * (most + 1)))
    assert [line for line, _ in faults] == [most + 1]
    assert "larger than" in faults[0][1]


@given(st.text(alphabet="${}NAME:-x"))
@example("$$${")
def test_what_is_escaped_is_no_variable(text: str) -> None:
    root, faults = expand(ScalarNode(1, escaped(text), escaped(text)), {})
    assert faults == []
    assert isinstance(root, ScalarNode)
    assert root.text == text


@given(st.text(alphabet="${}NAME:-x\n", max_size=40))
def test_any_text_is_expanded_or_a_fault(text: str) -> None:
    root, faults = expand(ScalarNode(1, text, text), {"A": "v", "N": "${"})
    assert isinstance(root, ScalarNode)
    assert len(faults) <= 1
