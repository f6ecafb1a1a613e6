"""``Event``: one thing that has happened to an app, as functions of ``@app.observe`` are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from mqkit.consumer.breaker.states import State as CircuitState
from mqkit.consumer.consumer_states import State as ConsumerState
from mqkit.supervision.states import State
from mqkit.topology.planning.quarantine import Quarantined, name_in_words


@dataclass(frozen=True, slots=True)
class ConnectionChanged:
    """The app's connections have another state; or the same, where the broker blocks for another
    reason. ``why`` says what ended a connection, or why the broker blocks."""

    before: State
    after: State
    why: str = ""


@dataclass(frozen=True, slots=True)
class RefusedObject:
    """An exchange, a queue or a binding that the broker does not declare: ``name`` has its kind in
    front. ``reply_code`` and ``reply_text`` are the broker's."""

    name: str
    reply_code: int
    reply_text: str

    @classmethod
    def of(cls, refused: Quarantined) -> RefusedObject:
        """The object that ``refused`` is about."""
        error = refused.error
        return cls(name_in_words(refused), error.reply_code, error.reply_text)


@dataclass(frozen=True, slots=True)
class TopologyDeclared:
    """The topology was declared: so many objects, without those that the broker refused."""

    declared: int
    refused: tuple[RefusedObject, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsumerChanged:
    """A consumer's subscription has another state. ``why`` says what ended it."""

    queue: str
    handler: str
    before: ConsumerState
    after: ConsumerState
    why: str = ""


@dataclass(frozen=True, slots=True)
class CircuitChanged:
    """A consumer's circuit has opened, half opened or closed. ``why`` is the reason of the
    ``Unavailable`` that opened it."""

    queue: str
    handler: str
    before: CircuitState
    after: CircuitState
    why: str = ""


Event: TypeAlias = ConnectionChanged | TopologyDeclared | ConsumerChanged | CircuitChanged
"""``match`` on it."""
