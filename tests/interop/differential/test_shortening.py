from __future__ import annotations

from interop.differential.operation import Call, CloseChannel, Publish, Sequence
from interop.differential.shortening import shortened
from mqkit.wire import Properties, methods

DECLARE = Call(1, methods.QueueDeclare("q0", arguments={"x-expires": 5, "x-max-length": 1}))
PUBLISH = Publish(
    1, methods.BasicPublish("", "q0"), Properties(priority=5, type="t"), size=9, count=3
)


def test_what_is_not_needed_goes() -> None:
    sequence = Sequence((DECLARE, CloseChannel(1), PUBLISH, CloseChannel(2)))
    shortest = shortened(sequence, lambda shorter: PUBLISH in shorter.operations)
    assert shortest.operations == (PUBLISH,)


def test_what_stays_is_made_simpler() -> None:
    def differs(sequence: Sequence) -> bool:
        declared = [o.method for o in sequence if isinstance(o, Call)]
        published = [o for o in sequence if isinstance(o, Publish)]
        return bool(
            any("x-max-length" in method.arguments for method in declared)  # type: ignore[attr-defined]
            and any(operation.properties.priority for operation in published)
        )

    shortest = shortened(Sequence((DECLARE, PUBLISH)), differs)
    declare, publish = shortest.operations
    assert isinstance(declare, Call)
    assert isinstance(publish, Publish)
    assert declare.method == methods.QueueDeclare("q0", arguments={"x-max-length": 1})
    assert publish.properties == Properties(priority=5)


def test_a_sequence_of_which_all_is_needed_stays() -> None:
    sequence = Sequence((DECLARE, PUBLISH), 0.5)
    assert shortened(sequence, lambda shorter: shorter == sequence) == sequence
