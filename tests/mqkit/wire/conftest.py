"""Strategies for everything that the codec carries, as fixtures for ``data.draw``."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import strategies as st

from mqkit.wire import Properties
from mqkit.wire.domain import Domain
from mqkit.wire.method_layout import arguments_of
from mqkit.wire.methods import ALL_METHODS, Method

Strategy = st.SearchStrategy[Any]


def _shortstrs() -> Strategy:
    """63 characters are 252 octets of UTF-8 at most."""
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=63)


def _times() -> Strategy:
    """Whole seconds, and not after 2106: pamqp takes larger ones for milliseconds."""
    return st.integers(0, 2**32 - 1).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


def _decimals() -> Strategy:
    return st.builds(
        lambda unscaled, scale: Decimal(unscaled).scaleb(-scale),
        st.integers(-(2**31), 2**31 - 1),
        st.integers(0, 20),
    )


def _tables() -> Strategy:
    """Tables of all types. Floats have 32 bits: pamqp sends no others."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(width=32, allow_nan=False, allow_infinity=False),
        _shortstrs(),
        st.binary(max_size=20).map(bytearray),
        _times(),
        _decimals(),
    )
    names = st.text(st.characters(exclude_categories=["Cs"]), max_size=32)
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
        max_leaves=8,
    )
    return st.dictionaries(names, values, max_size=4)


_DOMAINS: dict[Domain, Strategy] = {
    Domain.OCTET: st.integers(0, 2**8 - 1),
    Domain.SHORT: st.integers(0, 2**16 - 1),
    Domain.LONG: st.integers(0, 2**32 - 1),
    Domain.LONGLONG: st.integers(0, 2**63 - 1),  # pamqp reads it as signed
    Domain.BIT: st.booleans(),
    Domain.SHORTSTR: _shortstrs(),
    Domain.KEY: _shortstrs(),  # pamqp knows no other octets
    Domain.LONGSTR: st.binary(max_size=300),
    Domain.TABLE: _tables(),
    Domain.DECLARED_TABLE: _tables(),
}


def _methods_of(method_class: type[Method]) -> Strategy:
    return st.builds(
        method_class,
        **{
            argument.name: _DOMAINS[argument.domain]
            for argument in arguments_of(method_class)
            if not argument.reserved
        },
    )


def _properties() -> Strategy:
    kinds: dict[str, Strategy] = {
        "headers": _tables(),
        "delivery_mode": st.sampled_from([1, 2]),
        "priority": st.integers(0, 255),
        "timestamp": _times(),
    }
    return st.builds(
        Properties,
        **{
            field.name: st.none() | kinds.get(field.name, _shortstrs())
            for field in fields(Properties)
        },
    )


@pytest.fixture(scope="session")
def methods_by_class() -> dict[type[Method], Strategy]:
    """For each method's class, a strategy for its instances."""
    return {method_class: _methods_of(method_class) for method_class in ALL_METHODS}


@pytest.fixture(scope="session")
def any_method(methods_by_class: dict[type[Method], Strategy]) -> Strategy:
    """Any method with any arguments."""
    return st.one_of(list(methods_by_class.values()))


@pytest.fixture(scope="session")
def any_properties() -> Strategy:
    """Any properties that pamqp has too."""
    return _properties()


@pytest.fixture(scope="session")
def any_table() -> Strategy:
    """Any field table that pamqp can write too."""
    return _tables()
