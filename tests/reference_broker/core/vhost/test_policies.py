"""The policies of a virtual host: who gets which, when, and after a restart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_broker.core.base.deadlines import Deadlines
from reference_broker.core.base.ids import Ids
from reference_broker.core.base.moment import Moment
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyRefused, PolicyWish
from reference_broker.core.vhost import policies
from reference_broker.core.vhost.policies import MAX_INSTRUCTIONS, MAX_POLICIES
from reference_broker.core.vhost.policy_sweep import SLICE_UNITS
from reference_broker.core.vhost.vhost import VHost, VHostParts
from reference_broker.core.work.budget import Budget
from reference_broker.errors import Corrupt

USER, OPERATOR = PolicyKind.USER, PolicyKind.OPERATOR


class DefinitionJournal(MemoryJournal):
    """Keeps definitions, as the store's index of them does."""

    def __init__(self, epoch: int = 1) -> None:
        super().__init__(epoch)
        self.definitions: dict[str, bytes] = {}

    def define(self, key: str, value: bytes | None) -> None:
        super().define(key, value)
        if value is None:
            del self.definitions[key]  # never of something that was not defined
        else:
            self.definitions[key] = value


class Host:
    """A virtual host with its journal and its clock."""

    def __init__(self, before: Host | None = None) -> None:
        epoch: int = 1 if before is None else before.journal.epoch + 1
        self.journal: DefinitionJournal = DefinitionJournal(epoch)
        self.moment, self.deadlines = Moment(), Deadlines()
        self.vhost = VHost(
            "/",
            VHostParts(
                self.journal, Ids(self.journal.epoch), moment=self.moment, deadlines=self.deadlines
            ),
        )
        if before is not None:
            self.journal.definitions = dict(sorted(before.journal.definitions.items()))
            self.vhost.restore(self.journal.definitions)

    def put(
        self, name: str, pattern: str, kind: PolicyKind = USER, priority: float = 0, **keys: Any
    ) -> bool:
        definition = {key.replace("_", "-"): value for key, value in keys.items()}
        value = {"pattern": pattern, "definition": definition, "priority": priority}
        return self.vhost.policies.set(kind, name, PolicyWish.parse(kind, name, value))

    def finish(self) -> None:
        """Let ticks follow until nothing is under way."""
        while self.vhost.policies.under_way:
            self.moment.wall_ms += 10
            self.deadlines.fire(self.moment.wall_ms, Budget())

    def applied(self, queue: str) -> tuple[str | None, str | None]:
        user, operator = self.vhost.queues[queue].policies
        return user.name if user else None, operator.name if operator else None


@pytest.fixture
def host() -> Host:
    return Host()


def test_what_is_declared_has_them_from_the_first_moment(host: Host) -> None:
    assert host.put("p", "^q", max_length=5, alternate_exchange="ae")
    assert host.put("o", "", OPERATOR, max_length=3)
    queue = host.vhost.declare_queue("q")
    assert (host.applied("q"), queue.limits.max_length) == (("p", "o"), 3)
    assert host.vhost.declare_exchange("qx", "direct").alternate == "ae"
    host.vhost.declare_queue("other")
    assert host.applied("other") == (None, "o")
    generated = host.vhost.declare_queue("", exclusive=True, owner=object())
    assert host.applied(generated.name) == (None, "o")


def test_what_is_there_has_them_when_they_are_set(host: Host) -> None:
    queue = host.vhost.declare_queue("q")
    version = host.vhost.topology_version
    host.put("low", "q", max_length=5)
    host.put("high", "q", priority=1, message_ttl=7)
    assert host.applied("q") == ("high", None)
    assert (queue.limits.max_length, queue.limits.message_ttl_ms) == (None, 7)
    assert not host.put("high", "no longer", priority=1, message_ttl=7)
    assert host.applied("q") == ("low", None)
    assert not host.put("high", "q", priority=-1, message_ttl=7)
    assert host.applied("q") == ("low", None)
    assert host.vhost.policies.remove(USER, "low")
    assert host.applied("q") == ("high", None)
    assert host.vhost.policies.remove(USER, "high")
    assert (host.applied("q"), queue.limits) == ((None, None), queue.own_limits)
    assert not host.vhost.policies.remove(USER, "high")
    assert host.vhost.topology_version == version, "no route has changed"


def test_of_equal_priorities_the_older_stays(host: Host) -> None:
    host.vhost.declare_queue("q")
    host.put("first", "q", max_length=1)
    host.put("another", "q", max_length=2)
    host.put("first", "q", max_length=3)
    assert host.applied("q") == ("first", None)


def test_a_new_alternate_exchange_ends_resolved_routes(host: Host) -> None:
    vhost = host.vhost
    exchange = vhost.exchanges["amq.direct"]
    vhost.declare_queue("q")
    vhost.bind("amq.fanout", "q", "", destination_is_queue=True)
    version = vhost.topology_version
    host.put("p", "^amq.direct$", alternate_exchange="amq.fanout")
    assert vhost.topology_version > version
    assert [queue.name for queue in vhost.resolve(exchange, "k", None)] == ["q"]
    host.put("everything", "", priority=9, alternate_exchange="amq.fanout")
    assert vhost.resolve(vhost.exchanges[""], "nowhere", None) == ()


def test_the_same_once_more_is_not_even_logged(host: Host) -> None:
    host.put("p", "q", max_length=1)
    tail, before = host.journal.tail, host.vhost.policies.get(USER, "p")
    assert not host.put("p", "q", max_length=1)
    assert (host.journal.tail, host.vhost.policies.get(USER, "p")) == (tail, before)


def test_a_bound_on_their_number(host: Host) -> None:
    for number in range(MAX_POLICIES):
        host.put(str(number), "^none$", max_length=1)
    with pytest.raises(PolicyRefused, match=f"at most {MAX_POLICIES} policies"):
        host.put("one more", "^none$", max_length=1)
    assert len(host.journal.definitions) == MAX_POLICIES
    assert not host.put("5", "^none$", max_length=2)
    assert host.put("o", "^none$", OPERATOR, max_length=2)


DEAR = "(((a|b){0,30}){0,30})x"
"""A pattern that takes 12 ms for a name of 255 octets."""


def test_a_bound_on_what_their_patterns_may_cost(host: Host) -> None:
    """200 of them made each declaration a turn of 1.4 s."""
    with pytest.raises(PolicyRefused, match=f"at most {MAX_INSTRUCTIONS} instructions together"):
        for number in range(200):
            host.put(str(number), DEAR, max_length=1)
    count = len(host.journal.definitions)
    assert 2 <= count < 10
    assert not host.put("0", DEAR, max_length=2)
    assert host.put("o", DEAR, OPERATOR, max_length=2)
    host.put("0", "^plain$", max_length=1)
    assert host.put("one more", DEAR, max_length=1)
    assert host.vhost.policies.remove(USER, "one more")
    assert host.put("again", DEAR, max_length=1)


def test_what_a_later_version_refuses_is_kept_and_may_get_less(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        host.put(str(number), DEAR, max_length=1)
    monkeypatch.setattr(policies, "MAX_INSTRUCTIONS", 100)
    again = Host(host)
    assert len(again.vhost.policies.of(USER)) == 3
    assert not again.put("0", "^plain$", max_length=1)
    with pytest.raises(PolicyRefused):
        again.put("new", "^plain$", max_length=1)


def test_a_declaration_pays_for_the_patterns(host: Host) -> None:
    budget, spent = host.vhost.budget, []
    for pattern in ("^plain$", DEAR):
        host.put("p", pattern, max_length=1)
        left = budget.left
        host.vhost.declare_queue(pattern[:2] + "a" * 250)
        spent.append(left - budget.left)
    assert spent[0] < 50 < 1_000 < spent[1]


def test_a_sweep_of_a_dear_pattern_has_short_slices(host: Host) -> None:
    for number in range(100):
        host.vhost.declare_queue(f"{number}" + "a" * 250)
    budget = host.vhost.budget
    left = budget.left
    host.put("p", DEAR, max_length=1)
    assert host.vhost.policies.under_way
    assert left - budget.left < 1.5 * SLICE_UNITS + 5_000


def test_many_queues_get_it_in_slices_and_nobody_is_forgotten(host: Host) -> None:
    vhost = host.vhost
    for number in range(2_000):
        vhost.declare_queue(f"q{number}")
    host.put("p", "^q", max_length=5)
    assert vhost.policies.under_way
    vhost.declare_queue("q new")
    vhost.delete_queue("q1999")
    host.put("other", "^q1", priority=1, max_length=6)
    vhost.policies.remove(USER, "p")
    host.finish()
    assert all(
        host.applied(name) == ("other" if name.startswith("q1") else None, None)
        for name in vhost.queues
    )
    assert host.deadlines.next_ms() is None


def test_they_are_there_after_a_restart(host: Host) -> None:
    host.put("old", "q", max_length=1)
    host.put("young", "q", max_length=2, alternate_exchange="ae")
    host.put("o", "q", OPERATOR, expires=9_000)
    host.put("gone", "q", OPERATOR, priority=5, expires=1)
    host.vhost.policies.remove(OPERATOR, "gone")
    host.vhost.declare_queue("q", durable=True)
    host.vhost.declare_exchange("qx", "direct", durable=True)
    after = Host(host)
    queue = after.vhost.queues["q"]
    assert after.applied("q") == ("old", "o")
    assert (queue.limits.max_length, queue.limits.expires_ms) == (1, 9_000)
    assert queue.own_limits.max_length is None
    after.vhost.policies.remove(USER, "old")
    assert after.vhost.exchanges["qx"].alternate == "ae"
    after.put("new", "q", max_length=3)
    assert after.applied("q") == ("young", "o"), "what is set later is younger"
    assert Host(after).vhost.exchanges["qx"].alternate == "ae"


def test_one_that_can_not_be_read_is_told(host: Host) -> None:
    host.put("p", "q", max_length=1)
    (key,) = host.journal.definitions
    host.journal.definitions[key] = b"\x02"
    with pytest.raises(Corrupt):
        Host(host)


NAMES = st.sampled_from(["a", "b", "c"])
CHANGES = st.lists(
    st.tuples(
        NAMES,
        st.sampled_from(list(PolicyKind)),
        st.sampled_from([None, "", "^x", "y$"]),
        st.integers(-1, 1),
        st.sampled_from(["max_length", "expires", "delivery_limit"]),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(CHANGES)
def test_changes_one_by_one_come_to_the_same_as_a_restart(changes: list[Any]) -> None:
    """A change looks only at what it concerns; a restart matches everything anew."""
    host = Host()
    names = [f"{first}{last}" for first in "xz" for last in "yz"]
    for name in names:
        host.vhost.declare_queue(name, durable=True)
    for name, kind, pattern, priority, key in changes:
        if pattern is None:
            host.vhost.policies.remove(kind, name)
        else:
            host.put(name, pattern, kind, priority, **{key: 5_000})
    after = Host(host)
    for name in names:
        assert host.applied(name) == after.applied(name)
        assert host.vhost.queues[name].limits == after.vhost.queues[name].limits
