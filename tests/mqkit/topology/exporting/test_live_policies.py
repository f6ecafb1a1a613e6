"""The policies that live queues may come from."""

from __future__ import annotations

from mqkit.declaration import Queue
from mqkit.retry import RetryPolicy, Then, compile_policy
from mqkit.retry.policy import MAX_TIERS
from mqkit.topology.exporting.live_policies import live_policies


def found(*queues: Queue, said: RetryPolicy | None = None) -> list[RetryPolicy]:
    live = {queue.name: queue for queue in (Queue("q"), *queues)}
    return list(live_policies("q", live, said))


def test_without_a_file_the_names_of_old_speak_of_a_policy_that_parks() -> None:
    policy = RetryPolicy.of("1s", "5s")
    assert found(*compile_policy("q", policy)) == [policy]
    assert found(*compile_policy("other", policy)) == []
    assert found() == []


def test_a_policy_that_drops_is_not_guessed() -> None:
    dropping = RetryPolicy.of("1s", then=Then.DROP)
    assert found(*compile_policy("q", dropping)) == []
    assert found(*compile_policy("q", dropping), said=RetryPolicy.of("1s"))[1:] == []
    more = RetryPolicy.of("1s", "9s", then=Then.DROP)
    assert found(*compile_policy("q", dropping), said=more) == [more, dropping]


def test_a_file_gives_its_policy_first_then_its_names_then_those_of_old() -> None:
    old, new = RetryPolicy.of("1s"), RetryPolicy.of("5s", park="dlq", tiers="w.{after}")
    said = RetryPolicy.of("5s", "9s", park="dlq", tiers="w.{after}")
    live = (*compile_policy("q", old), *compile_policy("q", new))
    assert found(*live, said=said) == [said, new, old]


def test_a_pattern_without_the_time_takes_it_from_the_queue() -> None:
    said = RetryPolicy.of("5s", tiers="later")
    live = compile_policy("q", RetryPolicy.of("9s", tiers="later"))
    assert found(*live, said=said) == [said, RetryPolicy.of("9s", tiers="later")]
    strange = Queue("later", arguments={"x-message-ttl": "9"})
    assert found(strange, Queue("q.parked"), said=said) == [said]


def test_more_tiers_than_a_policy_may_have_speak_of_none() -> None:
    tiers = [Queue(f"q.retry.{after}ms") for after in range(1, MAX_TIERS + 2)]
    assert found(*tiers, Queue("q.parked")) == []
    assert len(found(*tiers[1:], Queue("q.parked"))) == 1


def test_names_that_no_policy_can_have_speak_of_none() -> None:
    assert found(Queue("q.retry.0ms"), Queue("q.parked")) == []
