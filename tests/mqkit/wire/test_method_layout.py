"""Compiled layouts: as few steps as can be, and reserved arguments in their place."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mqkit.wire import methods
from mqkit.wire.domain import Bit, Domain, Octet
from mqkit.wire.method_layout import arguments_of, steps_of
from mqkit.wire.methods import ALL_METHODS, Method


@dataclass(slots=True)
class Odd(Method):
    first: Bit = True
    second: Octet = 0


def test_arguments_stand_in_wire_order_with_the_reserved_ones() -> None:
    assert [tuple(argument) for argument in arguments_of(methods.QueueUnbind)] == [
        ("reserved_1", Domain.SHORT, True),
        ("queue", Domain.SHORTSTR, False),
        ("exchange", Domain.SHORTSTR, False),
        ("routing_key", Domain.SHORTSTR, False),
        ("arguments", Domain.TABLE, False),
    ]


@pytest.mark.parametrize(
    ("method_class", "expected"),
    [
        (methods.TxSelect, []),
        (methods.BasicAck, ["FixedStep"]),
        (methods.BasicQos, ["FixedStep"]),
        (methods.ConnectionTune, ["FixedStep"]),
        (methods.ConnectionOpen, ["VariableStep", "ReservedStep", "FixedStep"]),
        (methods.BasicPublish, ["FixedStep", "VariableStep", "VariableStep", "FixedStep"]),
        (
            methods.BasicDeliver,
            ["VariableStep", "FixedStep", "VariableStep", "VariableStep"],
        ),
    ],
)
def test_neighbours_of_fixed_size_share_a_step(
    method_class: type[Method], expected: list[str]
) -> None:
    assert [type(step).__name__ for step in steps_of(method_class)] == expected


def test_an_integer_after_bits_starts_a_new_step() -> None:
    """No method of AMQP has one; a layout that had one must not come out wrong."""
    odd = Odd(True, 9)
    assert [step.encode(odd) for step in steps_of(Odd)] == [b"\x01", b"\x09"]


def test_no_method_has_more_bits_in_a_row_than_an_octet_holds() -> None:
    for method in ALL_METHODS:
        domains = [argument.domain for argument in arguments_of(method)]
        assert domains.count(Domain.BIT) <= 8
