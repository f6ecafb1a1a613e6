from __future__ import annotations

from mqkit.wire.methods import BasicQos, ExchangeDeclare, Method, QueueBind, QueueDeclare
from reference_broker.simulation.clients.memory import Memory
from reference_broker.simulation.events.definitions import definition_of, queue_key

QUEUE = QueueDeclare("q", durable=True)
TRANSIENT = QueueDeclare("t")
EXCHANGE = ExchangeDeclare("e", "fanout", durable=True)
BINDINGS = [QueueBind("q", "e"), QueueBind("t", "e")]
ALL: list[Method] = [EXCHANGE, QUEUE, TRANSIENT, *BINDINGS, BasicQos()]


def told(*methods: Method, trusts: bool = True) -> Memory:
    """The memory of a client whose declarations were answered."""
    memory = Memory(trusts=trusts)
    memory.connected(1)
    for method in methods:
        definition = definition_of(method)
        if definition is not None:
            memory.declared(definition)
    return memory


def test_what_is_durable_is_said_once() -> None:
    assert told().left_to_say(ALL) == ALL
    assert told(*ALL).left_to_say(ALL) == [TRANSIENT, BINDINGS[1], BasicQos()]


def test_one_that_trusts_nothing_says_all() -> None:
    assert told(*ALL, trusts=False).left_to_say(ALL) == ALL


def test_what_it_deleted_is_said_again() -> None:
    memory = told(QUEUE)
    memory.deletion_sent(queue_key("q"))
    assert memory.left_to_say([QUEUE]) == [QUEUE]
    memory.deleted(queue_key("q"))
    assert memory.left_to_say([QUEUE]) == [QUEUE]


def test_it_is_said_each_time_while_a_deletion_may_still_come() -> None:
    memory = told(QUEUE)
    memory.deletion_sent(queue_key("q"))
    definition = definition_of(QUEUE)
    assert definition is not None
    memory.declared(definition)
    assert memory.left_to_say([QUEUE]) == [QUEUE]
    memory.connected(1)
    memory.declared(definition)
    assert memory.left_to_say([QUEUE]) == [QUEUE]
    memory.connected(2)
    memory.declared(definition)
    assert memory.left_to_say([QUEUE]) == []
