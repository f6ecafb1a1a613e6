"""State machines as tables: what is not in the table is illegal, raises, and changes nothing.

The tables are :mod:`mqkit.supervision.states` and :mod:`mqkit.consumer.consumer_states`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from mqkit.errors import MqkitError

StateT = TypeVar("StateT", bound=StrEnum)
EventT = TypeVar("EventT", bound=StrEnum)


class IllegalTransition(MqkitError):
    """An event that can't happen in this state: a bug in mqkit. Nothing has changed."""


def follow(
    transitions: Mapping[StateT, Mapping[EventT, StateT]], state: StateT, event: EventT
) -> StateT:
    """The state that follows. Raises :exc:`IllegalTransition`."""
    following = transitions[state].get(event)
    if following is None:
        raise IllegalTransition(f"{event} in the state {state}")
    return following
