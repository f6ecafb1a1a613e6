"""Runs a sequence on two brokers in step, and says where they first differ.

After each operation both brokers are given time to settle: RabbitMQ's queues, channels and
connections are processes that don't wait for each other, so what a client sees is compared until it
is the same, and is a difference only when it stays one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pprint import pformat
from typing import Any

from interop.differential.operation import (
    Call,
    CloseChannel,
    CloseConnection,
    Operation,
    Outcome,
    Publish,
    Rest,
    Sequence,
    Settle,
    shown,
)
from interop.differential.peer import NoAnswer
from interop.differential.subject import Held, Subject
from mqkit.wire import methods

SETTLE_S = 5.0
"""The time in which both brokers must come to the same state. RabbitMQ needs some milliseconds, and
seconds where a machine is very busy."""
SHORT_SETTLE_S = 1.0
"""A shorter time, where a mistake costs nothing but a detour."""
POLL_S = 0.004


@dataclass(frozen=True, slots=True)
class Difference:
    """After ``operation`` the two were seen to do different things."""

    number: int
    operation: Operation | None
    there: Any
    here: Any

    def __str__(self) -> str:
        at = "at the end" if self.operation is None else shown(self.operation)
        return (
            f"after {self.number}: {at}\n"
            f"RabbitMQ: {pformat(self.there, width=110)}\n"
            f"ours:     {pformat(self.here, width=110)}"
        )


class Lockstep:
    """Two brokers. RabbitMQ is ``there``, the reference broker is ``here``."""

    def __init__(self, there: Subject, here: Subject) -> None:
        self._subjects = (there, here)
        self._settle_s = SETTLE_S

    def run(self, sequence: Sequence, settle_s: float = SETTLE_S) -> Difference | None:
        """The first difference, if there is one. Leaves both brokers empty."""
        self._settle_s = settle_s
        try:
            return self._run(sequence)
        finally:
            for subject in self._subjects:
                subject.reset()

    def _run(self, sequence: Sequence) -> Difference | None:
        for number, operation in enumerate(sequence):
            difference = self._step(number, operation, sequence.pause_s)
            if difference is not None:
                return difference
        return self._compare_contents(len(sequence.operations))

    def _step(self, number: int, operation: Operation, pause_s: float) -> Difference | None:
        both = self._resolved(operation)
        if both is None:
            return None
        try:
            for subject, own in zip(self._subjects, both, strict=True):
                subject.begin(number, own)
            for subject in self._subjects:
                subject.finish()
            if isinstance(operation, Rest):
                time.sleep(operation.seconds)
            elif isinstance(operation, Publish | Settle | CloseChannel | CloseConnection):
                time.sleep(pause_s)
            return self._settle(number, operation)
        except NoAnswer:
            told = [subject.refresh() for subject in self._subjects]
            return Difference(number, operation, *told)

    def _settle(self, number: int, operation: Operation) -> Difference | None:
        deadline = time.monotonic() + self._settle_s
        wait_s = 0.0
        while True:
            there, here = (subject.refresh(wait_s) for subject in self._subjects)
            if there == here and all(subject.confirmed for subject in self._subjects):
                for subject in self._subjects:
                    subject.forget_missing()
                return None
            if time.monotonic() > deadline:
                return Difference(number, operation, *_unequal(there, here))
            wait_s = POLL_S

    def _compare_contents(self, number: int) -> Difference | None:
        there, here = self._subjects
        for queue, same_queue in zip(there.queues, here.queues, strict=True):
            theirs = there.contents(queue)
            ours = here.contents(same_queue)
            if theirs != ours:
                return Difference(number, None, theirs, ours)
        return None

    def _resolved(self, operation: Operation) -> tuple[Operation, Operation] | None:
        """The operation as each broker gets it; ``None`` when there is nothing to do."""
        if not isinstance(operation, Settle):
            return operation, operation
        there, here = (subject.held(operation.place) for subject in self._subjects)
        if not here:
            return None
        chosen = here[operation.nth % len(here)]
        same_order = [held.key for held in there] == [held.key for held in here]
        tags = [chosen.tag, _tag_of(chosen, here, there)]
        if operation.multiple and not same_order:
            tags = [0, 0]  # all of them: which ones are older is different
        ours, theirs = (_settlement(operation, tag) for tag in tags)
        return theirs, ours


def _tag_of(chosen: Held, here: list[Held], there: list[Held]) -> int:
    """The tag there of the delivery that is ``chosen`` here."""
    occurrence = [held for held in here if held.key == chosen.key].index(chosen)
    same = [held for held in there if held.key == chosen.key]
    return same[occurrence].tag


def _settlement(operation: Settle, tag: int) -> Call:
    match operation.outcome:
        case Outcome.ACK:
            method: methods.Method = methods.BasicAck(tag, operation.multiple)
        case Outcome.NACK:
            method = methods.BasicNack(tag, operation.multiple, operation.requeue)
        case Outcome.REJECT:
            method = methods.BasicReject(tag, operation.requeue)
    return Call(operation.place, method)


def _unequal(there: Any, here: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The answers of both brokers, cut to the parts in which they differ."""
    parts = [
        name
        for name in there.__slots__
        if name == "replies" or getattr(there, name) != getattr(here, name)
    ]
    told = [{name: getattr(seen, name) for name in parts} for seen in (there, here)]
    return told[0], told[1]
