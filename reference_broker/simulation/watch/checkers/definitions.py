"""The law that exchanges, queues and bindings are what clients were told, after each start and
whenever they are looked at; and that a new broker would find the same on the disk, policies
included, by the footers of the log and by its records alone.

The model of what they may be is in :mod:`reference_broker.simulation.watch.definitions`.
"""

from __future__ import annotations

from reference_broker.simulation.events.definitions import Declaration, Definitions, queue_key
from reference_broker.simulation.events.events import BitRot, Removal, RemovalKind
from reference_broker.simulation.watch.checkers.checker import Checker
from reference_broker.simulation.watch.definitions import Change, DefinitionModel


class DefinitionsChecker(Checker):
    name = "definitions"

    def __init__(self) -> None:
        self._model = DefinitionModel()
        self._deletions: dict[Removal, Change] = {}
        self._declarations: dict[Declaration, Change] = {}
        self._is_rotten = False

    def declaration_sent(self, declaration: Declaration) -> None:
        self._declarations[declaration] = self._model.asked(declaration.definition)

    def declared(self, declaration: Declaration) -> None:
        self._model.answered(self._declarations.pop(declaration))

    def removal_sent(self, removal: Removal) -> None:
        if removal.kind is RemovalKind.DELETE:
            gone = [queue_key(removal.queue)]
            self._deletions[removal] = self._model.asked(deleted=gone)

    def removed(self, removal: Removal) -> None:
        if removal.kind is RemovalKind.DELETE:
            self._model.answered(self._deletions.pop(removal))

    def bit_flipped(self, rot: BitRot) -> None:
        if rot.speaks or rot.defines:  # a definition may be lost, or its end
            self._is_rotten = True

    def definitions_found(self, found: Definitions) -> None:
        self._judge(self._model.started(found))

    def definitions_seen(self, there: Definitions) -> None:
        self._judge(self._model.look(there))

    def definitions_compared(self, ours: Definitions, rebuilt: Definitions, source: str) -> None:
        for key in sorted({*ours, *rebuilt}):
            if ours.get(key) != rebuilt.get(key):
                raise self.fail(
                    f"{key} is {ours.get(key)} in the broker, and {rebuilt.get(key)} in a rebuild "
                    f"from {source}"
                )

    def _judge(self, wrong: str) -> None:
        if wrong and not self._is_rotten:
            raise self.fail(wrong)
