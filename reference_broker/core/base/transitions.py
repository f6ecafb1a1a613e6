"""A state machine is a table: what is not in it is illegal, raises, and changes nothing.

Law 8 of the design. The tables themselves are in :mod:`connection_state` and
:mod:`channel_state`, beside the enums that they speak about.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)


class IllegalTransition(AssertionError):
    """Our own code fed a state machine an event that its state does not have. Nothing changed."""


class TransitionTable(Generic[State, Event]):
    """Every legal (state, event) pair, and the state that it leads to."""

    def __init__(self, transitions: Mapping[tuple[State, Event], State]) -> None:
        self.transitions = dict(transitions)

    def after(self, state: State, event: Event) -> State:
        """The state that ``event`` leads to. Raises :exc:`IllegalTransition`."""
        try:
            return self.transitions[state, event]
        except KeyError:
            raise IllegalTransition(f"{event.name} in state {state.name}") from None

    def allows(self, state: State, event: Event) -> bool:
        """True if ``after`` would return rather than raise."""
        return (state, event) in self.transitions
