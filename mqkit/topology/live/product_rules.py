"""The declarations that a product and version refuses, or takes and does not heed. Pure.

A table, a row for each rule with where it is known from. "measured" is a declaration made on
RabbitMQ 3.10.8 and on the reference broker; for other versions RabbitMQ's release notes and pages
are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import NamedTuple, TypeAlias

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology.live.product import RABBITMQ, REFERENCE_BROKER, Product
from mqkit.topology.model import Overflow, QueueType
from mqkit.topology.planning.step import Step, StepAction, Verdict
from mqkit.topology.policy.in_force import type_of
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel

Subject: TypeAlias = Exchange | Queue | Binding | PolicyModel
Version: TypeAlias = tuple[int, ...]
EVER: Version = (10_000,)
"""Above every version."""


class Answer(Enum):
    """A broker's answer to a declaration."""

    REFUSED = "refused"
    REFUSED_BY_DEFAULT = "refused by default"
    """An operator may have allowed it: an apply tries."""
    IGNORED = "ignored"


class Rule(NamedTuple):
    """Of ``product`` from version ``since`` on, ``below`` another: its answer to what is ``about``
    it. ``source`` is where that is known from."""

    product: str
    since: Version
    below: Version
    about: Callable[[Subject], bool]
    answer: Answer
    words: str
    source: str

    def holds_on(self, product: Product) -> bool:
        """True for a broker that the rule is about; one without a version is of any."""
        if self.product != product.name:
            return False
        if not product.version:
            return (self.since, self.below) == ((), EVER)
        return self.since <= product.version < self.below


def _queue(kind: QueueType, *arguments: str) -> Callable[[Subject], bool]:
    """A queue of ``kind`` that has one of ``arguments``, if any are given."""

    def about(subject: Subject) -> bool:
        return (
            isinstance(subject, Queue)
            and type_of(subject) is kind
            and (not arguments or any(name in subject.arguments for name in arguments))
        )

    return about


def _is_transient(subject: Subject) -> bool:
    return isinstance(subject, Queue) and not subject.durable and not subject.exclusive


def _has_version_1(subject: Subject) -> bool:
    return isinstance(subject, Queue) and subject.arguments.get("x-queue-version") == 1


def _rejects_to_dead_letters(subject: Subject) -> bool:
    return (
        isinstance(subject, Queue)
        and type_of(subject) is QueueType.QUORUM
        and subject.arguments.get("x-overflow") == Overflow.REJECT_PUBLISH_DLX
    )


def _drops_by_count(subject: Subject) -> bool:
    """A quorum queue that throws away what comes back too often."""
    return (
        isinstance(subject, Queue)
        and type_of(subject) is QueueType.QUORUM
        and "x-dead-letter-exchange" not in subject.arguments
        and "x-delivery-limit" not in subject.arguments
    )


def _is_by_queue_type(subject: Subject) -> bool:
    by_type = (ApplyTo.CLASSIC_QUEUES, ApplyTo.QUORUM_QUEUES, ApplyTo.STREAMS)
    return isinstance(subject, PolicyModel) and subject.apply_to in by_type


def _mirrors(subject: Subject) -> bool:
    return isinstance(subject, PolicyModel) and any(key[:3] == "ha-" for key in subject.definition)


_DELIVERY_LIMIT = (
    "a message that comes back more than 20 times is dropped (the default delivery limit): give the"
    " queue dead_letter, retry with a parking lot, or arguments: {x-delivery-limit: ...}"
)
_NO_STREAM_ARGUMENTS = (
    *("x-message-ttl", "x-max-length", "x-dead-letter-exchange", "x-expires", "x-overflow"),
    "x-max-priority",
)
_BOTH = (RABBITMQ, REFERENCE_BROKER)

RULES: tuple[Rule, ...] = (
    Rule(
        *(REFERENCE_BROKER, (), EVER, _queue(QueueType.STREAM), Answer.REFUSED),
        "the reference broker has no streams (it answers 540)",
        "measured",
    ),
    Rule(
        *(RABBITMQ, (), (3, 9), _queue(QueueType.STREAM), Answer.REFUSED),
        "streams came with RabbitMQ 3.9",
        "RabbitMQ 3.9.0 release notes",
    ),
    Rule(
        *(RABBITMQ, (), (3, 8), _queue(QueueType.QUORUM), Answer.REFUSED),
        "quorum queues came with RabbitMQ 3.8",
        "RabbitMQ 3.8.0 release notes",
    ),
    Rule(
        *(RABBITMQ, (4, 3), EVER, _is_transient, Answer.REFUSED_BY_DEFAULT),
        "a queue that is neither durable nor exclusive is refused by default from RabbitMQ 4.3 on:"
        " leave durable: false out, and say expires: ...",
        "RabbitMQ 4.3.0 release notes, transient_nonexcl_queues",
    ),
    Rule(
        *(RABBITMQ, (), (4, 3), _queue(QueueType.QUORUM, "x-max-priority"), Answer.REFUSED),
        "a quorum queue takes no max_priority (406)",
        "measured; RabbitMQ 'Quorum Queues', feature matrix",
    ),
    Rule(
        *(REFERENCE_BROKER, (), EVER, _queue(QueueType.QUORUM, "x-max-priority"), Answer.REFUSED),
        "a quorum queue takes no max_priority (406)",
        "measured",
    ),
    Rule(
        *(RABBITMQ, (4, 3), EVER, _queue(QueueType.CLASSIC, "x-queue-mode"), Answer.REFUSED),
        "x-queue-mode is refused from RabbitMQ 4.3 on: leave it out",
        "RabbitMQ 4.3.0 release notes, CQv1 is removed",
    ),
    Rule(
        *(RABBITMQ, (4, 3), EVER, _has_version_1, Answer.REFUSED),
        "x-queue-version 1 is refused from RabbitMQ 4.3 on: leave it out",
        "RabbitMQ 4.3.0 release notes, CQv1 is removed",
    ),
    Rule(
        *(RABBITMQ, (), (3, 12), _is_by_queue_type, Answer.REFUSED),
        "apply_to a type of queue came with RabbitMQ 3.12: say apply_to: queues",
        "measured; RabbitMQ 3.12.0 release notes",
    ),
    Rule(
        *(RABBITMQ, (4, 0), EVER, _mirrors, Answer.IGNORED),
        "ha-... has no effect: mirroring of classic queues is gone since RabbitMQ 4.0",
        "RabbitMQ 4.0.1 release notes",
    ),
    Rule(
        *(REFERENCE_BROKER, (), EVER, _mirrors, Answer.IGNORED),
        "ha-... has no effect on the reference broker",
        "docs/broker.md",
    ),
    Rule(
        *(RABBITMQ, (4, 0), EVER, _drops_by_count, Answer.IGNORED),
        _DELIVERY_LIMIT,
        "RabbitMQ 4.0.1 release notes, 'Quorum Queues', poison messages",
    ),
    Rule(
        *(REFERENCE_BROKER, (), EVER, _drops_by_count, Answer.IGNORED),
        _DELIVERY_LIMIT,
        "reference_broker/core/arguments/queue_type.py",
    ),
    *(
        Rule(
            *(product, (), EVER, _rejects_to_dead_letters, Answer.IGNORED),
            "a quorum queue takes overflow: reject-publish-dlx for drop-head",
            "RabbitMQ 'Quorum Queues', feature matrix",
        )
        for product in _BOTH
    ),
    *(
        Rule(
            *(product, (), EVER, _queue(QueueType.CLASSIC, name), Answer.REFUSED),
            f"a classic queue takes no {name} (406)",
            "measured",
        )
        for product in _BOTH
        for name in ("x-delivery-limit", "x-max-age", "x-dead-letter-strategy")
    ),
    *(
        Rule(
            *(RABBITMQ, (3, 9), EVER, _queue(QueueType.STREAM, name), Answer.REFUSED),
            f"a stream takes no {name} (406)",
            "measured",
        )
        for name in _NO_STREAM_ARGUMENTS
    ),
)


def findings(subject: Subject, product: Product) -> Iterator[Rule]:
    """The rules of ``product`` that ``subject`` runs into."""
    if isinstance(subject, Exchange) and product.exchange_types:
        types = product.exchange_types
        if subject.type not in types:
            yield Rule(
                *(product.name, (), EVER, lambda _: True, Answer.REFUSED),
                f"this broker has no exchange type {subject.type!r} (it has"
                f" {', '.join(sorted(types))}; others come with plugins)",
                "/api/overview",
            )
    yield from (rule for rule in RULES if rule.holds_on(product) and rule.about(subject))


def with_product_rules(steps: Sequence[Step], product: Product | None) -> list[Step]:
    """The steps as this product takes them: what it would refuse is so, and what binds that, too.

    What is there already was not refused.
    """
    if product is None:
        return list(steps)
    judged: list[Step] = []
    refused: set[tuple[str, str]] = set()
    for step in steps:
        if step.action not in (StepAction.CREATE, StepAction.SET):
            judged.append(step)
            continue
        found = list(findings(step.declaration, product))
        new = _judged(step, found, product)
        if new.verdict is Verdict.REFUSED:
            refused.add(_key(new.declaration))
        elif (end := _refused_end(step.declaration, refused)) is not None:
            reason = f"{' '.join(end)!r}, which it binds, would be refused"
            new = replace(step, verdict=Verdict.REFUSED, action=StepAction.KEEP, reason=reason)
        judged.append(new)
    return judged


def _judged(step: Step, found: Sequence[Rule], product: Product) -> Step:
    remarks = tuple(rule.words for rule in found if rule.answer is Answer.IGNORED)
    refusals = [rule for rule in found if rule.answer is not Answer.IGNORED]
    if not refusals:
        return replace(step, remarks=(*step.remarks, *remarks))
    is_sure = any(rule.answer is Answer.REFUSED for rule in refusals)
    return replace(
        step,
        verdict=Verdict.REFUSED,
        action=StepAction.KEEP if is_sure else step.action,
        reason=f"{product}: {'; '.join(rule.words for rule in refusals)}",
        remarks=(*step.remarks, *remarks),
    )


def _key(subject: Subject) -> tuple[str, str]:
    return type(subject).__name__.lower(), "" if isinstance(subject, Binding) else subject.name


def _refused_end(subject: Subject, refused: set[tuple[str, str]]) -> tuple[str, str] | None:
    if not isinstance(subject, Binding):
        return None
    kind = "exchange" if subject.to_exchange else "queue"
    ends = (("exchange", subject.source), (kind, subject.destination))
    return next((end for end in ends if end in refused), None)
