"""Operations over HTTP in a sequence, on one broker: what they answer, and that they are undone."""

from __future__ import annotations

from typing import Any

from interop.brokers import Broker
from interop.differential.administration import ClearPolicy, Permit, SetPolicy
from interop.differential.lockstep import Lockstep
from interop.differential.operation import TOKEN, Call, Operation, Publish, Sequence
from interop.differential.subject import ADMINISTRATOR, REPLY_TO, Subject
from mqkit.url import parse
from mqkit.wire import Properties, methods


def subject_of(broker: Any) -> Subject:
    return Subject("ours", Broker(parse(broker.url), broker.management_url))


def seen_after(subject: Subject, *operations: Operation) -> list[Any]:
    """The effects of every operation, in order."""
    seen = []
    for number, operation in enumerate(operations):
        subject.begin(number, operation)
        subject.finish()
        seen.append(subject.refresh())
    return seen


def test_a_policy_holds_until_the_end_of_the_sequence(reference_broker: Any) -> None:
    subject = subject_of(reference_broker)
    limited = SetPolicy("p0", "^q0$", "queues", 0, {"max-length": 1})
    fill = Publish(1, methods.BasicPublish("", "q0"), Properties(), count=3)
    declared = Call(1, methods.QueueDeclare("q0"))
    seen = seen_after(subject, limited, declared, fill, limited, ClearPolicy("p0"))
    assert seen[0].replies[ADMINISTRATOR] == [("status", 201)]
    assert seen[2].queues["q0"][2] == 1
    assert seen[3].replies[ADMINISTRATOR] == [("status", 204)]
    seen_after(subject, limited)
    subject.reset()
    assert seen_after(subject, declared, fill)[1].queues["q0"][2] == 3
    subject.reset()


def test_the_user_may_do_everything_until_it_is_said_otherwise(reference_broker: Any) -> None:
    subject = subject_of(reference_broker)
    declared = Call(4, methods.QueueDeclare("q0"))
    first, _, second = seen_after(subject, declared, Permit("", ".*", ".*"), declared)
    (accepted,), (refused,) = first.replies.values(), second.replies.values()
    assert [reply[0] for reply in accepted] == ["queue.declare-ok"]
    assert refused[0][:2] == ("channel.close", 403)
    subject.reset()
    (again,) = seen_after(subject, declared)
    assert again.replies == first.replies
    subject.reset()


def test_a_reply_goes_to_the_address_of_the_newest_request(reference_broker: Any) -> None:
    subject = subject_of(reference_broker)
    seen = seen_after(
        subject,
        Call(1, methods.QueueDeclare("q0")),
        Call(1, methods.BasicConsume(REPLY_TO, "r0", no_ack=True)),
        Publish(1, methods.BasicPublish("", "q0"), Properties(reply_to=REPLY_TO)),
        Call(3, methods.BasicGet("q0", no_ack=True)),
        Publish(3, methods.BasicPublish("", TOKEN), Properties()),
    )
    ((answer,),) = seen[-1].deliveries.values()
    assert (answer["body"], answer["deliver"]) == (b"4.0 ", (False, "", "<token 1>"))
    subject.reset()


def test_both_sides_of_a_comparison_are_administered(reference_broker: Any) -> None:
    """They are one broker here, so only the first policy is new."""
    sequence = Sequence((SetPolicy("p0", "", "all", 0, {"max-length": 1}),))
    difference = Lockstep(subject_of(reference_broker), subject_of(reference_broker)).run(
        sequence, 0.1
    )
    assert difference is not None
    assert difference.there["replies"] == {ADMINISTRATOR: [("status", 201)]}
    assert difference.here["replies"] == {ADMINISTRATOR: [("status", 204)]}
