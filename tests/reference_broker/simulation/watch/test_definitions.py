from __future__ import annotations

import pytest

from reference_broker.simulation.events import definitions
from reference_broker.simulation.events.definitions import Definition, Definitions
from reference_broker.simulation.watch.definitions import DefinitionModel

QUEUE = definitions.queue("q", {}, durable=True)
OTHER = definitions.queue("q", {"x-max-length": 3}, durable=True)
TRANSIENT = definitions.queue("t", {}, durable=False)
EXCHANGE = definitions.exchange("e", "fanout", {}, durable=True)
BINDING = definitions.binding("e", QUEUE.key, "", {})


def told(*wanted: Definition) -> DefinitionModel:
    """A model in which these were declared one after another, and answered."""
    model = DefinitionModel()
    for each in wanted:
        model.answered(model.asked(each))
    return model


def table(*found: Definition) -> Definitions:
    return {each.key: each for each in found}


def test_what_was_answered_is_there_and_stays_so_after_a_start() -> None:
    model = told(QUEUE)
    assert not model.look(table(QUEUE))
    assert "gone" in model.look({})
    assert model.state(QUEUE.key) is True
    assert "'q'" in model.started({})


def test_what_was_not_answered_may_be_there_or_not() -> None:
    for found in (table(QUEUE), {}):
        model = DefinitionModel()
        model.asked(QUEUE)
        assert model.state(QUEUE.key) is None
        assert not model.look(found)
        assert not model.started(found)
        # What a start has found is so.
        assert model.state(QUEUE.key) is bool(found)
        assert model.look({} if found else table(QUEUE))


def test_what_was_deleted_and_answered_is_gone_for_good() -> None:
    model = told(QUEUE)
    deletion = model.asked(deleted=[QUEUE.key])
    assert not model.look(table(QUEUE))
    assert not model.look({})
    model.answered(deletion)
    assert model.state(QUEUE.key) is False
    assert model.look(table(QUEUE))
    assert model.started(table(QUEUE))


def test_a_deletion_without_an_answer_may_come_until_the_process_is_gone() -> None:
    model = told(QUEUE)
    model.asked(deleted=[QUEUE.key])
    model.answered(model.asked(QUEUE))
    assert not model.look({})
    assert not model.started(table(QUEUE))
    assert model.look({})


def test_an_answer_of_an_earlier_process_says_nothing_of_this_one() -> None:
    model = told(QUEUE)
    deletion = model.asked(deleted=[QUEUE.key])
    model.started({})
    model.answered(model.asked(QUEUE))
    model.answered(deletion)
    assert model.state(QUEUE.key) is True


@pytest.mark.parametrize("found", [OTHER, QUEUE._replace(durable=False)])
def test_it_is_there_as_it_was_declared(found: Definition) -> None:
    assert "may be" in told(QUEUE).look(table(found))
    assert "may be" in told(QUEUE).started(table(found))


def test_it_may_have_been_declared_in_another_way_since() -> None:
    model = told(QUEUE)
    model.answered(model.asked(deleted=[QUEUE.key]))
    model.asked(OTHER)
    assert not model.look(table(OTHER))
    assert model.look(table(QUEUE))


def test_what_is_not_durable_is_gone_after_a_start_with_its_bindings() -> None:
    to_transient = definitions.binding("e", TRANSIENT.key, "", {})
    model = told(EXCHANGE, TRANSIENT, to_transient)
    found = table(EXCHANGE, TRANSIENT, to_transient._replace(durable=False))
    assert not model.look(found)
    assert "gone" in model.look(table(EXCHANGE, TRANSIENT))
    assert not told(EXCHANGE, TRANSIENT, to_transient).started(table(EXCHANGE))
    assert model.started(found)


def test_bindings_go_with_their_ends() -> None:
    model = told(EXCHANGE, QUEUE, BINDING)
    model.asked(deleted=[QUEUE.key])
    assert not model.look(table(EXCHANGE, QUEUE, BINDING))
    assert "binding" in model.started(table(EXCHANGE, BINDING))
    model = told(EXCHANGE, QUEUE, BINDING)
    model.answered(model.asked(deleted=[EXCHANGE.key]))
    assert "binding" in model.look(table(QUEUE, BINDING))


def test_what_nobody_declared_is_a_finding() -> None:
    assert "nobody" in DefinitionModel().look(table(QUEUE))
