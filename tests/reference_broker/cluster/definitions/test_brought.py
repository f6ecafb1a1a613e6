"""brought: a folder's definitions for a cluster, and what can't be beside what that has."""

from __future__ import annotations

import pytest

from reference_broker.cluster.definitions.brought import (
    SET_UP_KEY,
    BroughtDefinitions,
    changes_of,
    shared_part,
)
from reference_broker.cluster.definitions.shared_value import (
    VALUE_BYTES_MAX,
    SharedValue,
    encode,
)
from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.broker import Broker
from reference_broker.core.exchange.exchange import ExchangeType
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.errors import ClusterRefused


class KeepingJournal(MemoryJournal):
    """Keeps what was defined."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, bytes] = {}

    def define(self, key: str, value: bytes | None) -> None:
        super().define(key, value)
        if value is None:
            self.kept.pop(key, None)
        else:
            self.kept[key] = value


def _definitions() -> dict[str, bytes]:
    """Those of a broker on its own that somebody has used."""
    journal = KeepingJournal()
    broker = Broker(journal, UserStore())
    broker.begin(0, 0)
    broker.note_set_up()
    broker.add_vhost("/", VHostInfo("Default virtual host"))
    broker.add_vhost("a/b")
    broker.access.store_user(User("ann", hash_password(b"x", b"salt")))
    broker.access.allow_everything("ann", "a/b")
    vhost = broker.vhosts["a/b"]
    vhost.declare_queue("q", durable=True, arguments={"x-message-id-window": 60_000})
    vhost.declare_exchange("e", ExchangeType.TOPIC, durable=True)
    vhost.bind("e", "q", "k", destination_is_queue=True)
    vhost.bind("amq.direct", "q", "k", destination_is_queue=True)
    wish = PolicyWish.parse(
        PolicyKind.USER, "p", {"pattern": "^q", "definition": {"max-length": 7}}
    )
    vhost.policies.set(PolicyKind.USER, "p", wish)
    broker.global_parameters.set("note", "x")
    return journal.kept


def test_what_goes_with_messages_stays_in_the_folder() -> None:
    definitions = {**_definitions(), "counts/%2F/1/0": b"x", "~clock/mark": b"x"}
    shared = shared_part(definitions)
    assert {key.partition("/")[0] for key in definitions.keys() - shared.keys()} == {
        "counts",
        "~clock",
        "queue-seen",
    }


def test_each_is_behind_what_it_speaks_of() -> None:
    changes = changes_of(shared_part(_definitions()))
    keys = [change.key for change in changes]
    assert SET_UP_KEY not in keys
    assert len(keys) == 10
    for place, change in enumerate(changes):
        for spoken_of in change.speaks_of:
            assert spoken_of in keys[:place] or spoken_of == "exchange/a%2Fb/amq.direct"
    by_kind = {change.key.partition("/")[0]: change for change in changes}
    assert by_kind["permission"].speaks_of == ("user/ann", "vhost/a%2Fb")
    assert by_kind["queue"].speaks_of == by_kind["policy"].speaks_of == ("vhost/a%2Fb",)
    assert by_kind["binding"].speaks_of[0] == "vhost/a%2Fb"


def test_what_has_lost_what_it_speaks_of_is_left_out() -> None:
    definitions = shared_part(_definitions())
    del definitions["queue/a%2Fb/q"], definitions["user/ann"]
    kinds = [change.key.partition("/")[0] for change in changes_of(definitions)]
    assert "binding" not in kinds
    assert "permission" not in kinds


def test_a_virtual_host_that_an_early_version_did_not_define_is_there() -> None:
    definitions = shared_part(_definitions())
    del definitions["vhost/a%2Fb"]
    assert "vhost/a%2Fb" in [change.key for change in changes_of(definitions)]


def test_one_that_is_too_large_is_refused_in_a_line() -> None:
    with pytest.raises(ClusterRefused, match="queue 'x' in vhost '/' is a definition of"):
        changes_of({"queue/%2F/x": _definitions()["queue/a%2Fb/q"] + bytes(VALUE_BYTES_MAX)})


def _conflict(key: str, there: dict[str, bytes], *, has_messages: bool = False) -> str | None:
    brought = BroughtDefinitions(shared_part(_definitions()), lambda id: has_messages)
    return brought.conflict(key, encode(SharedValue(there[key], 7, (), "b")))


def test_what_is_the_same_is_one() -> None:
    there = shared_part(_definitions())
    assert [key for key in there if _conflict(key, there, has_messages=True)] == []


def test_what_the_folder_does_not_have_is_no_matter() -> None:
    there = {"queue/%2F/another": b"?"}
    assert _conflict("queue/%2F/another", there) is None


@pytest.mark.parametrize("kind", ["user", "vhost", "permission", "binding"])
def test_of_these_the_clusters_own_stays(kind: str) -> None:
    (key,) = [key for key in _definitions() if key.partition("/")[0] == kind][:1]
    assert _conflict(key, {key: b"another"}, has_messages=True) is None


def _another(kind: str) -> dict[str, bytes]:
    journal = KeepingJournal()
    broker = Broker(journal, UserStore())
    broker.begin(0, 0)
    vhost = broker.add_vhost("a/b")
    if kind == "exchange":
        vhost.declare_exchange("e", ExchangeType.FANOUT, durable=True)
    elif kind == "queue":
        vhost.declare_queue("other id", durable=True)
        vhost.declare_queue("q", durable=True, arguments={"x-max-length": 1})
    elif kind == "policy":
        wish = PolicyWish.parse(
            PolicyKind.USER, "p", {"pattern": "^q", "definition": {"max-length": 8}}
        )
        vhost.policies.set(PolicyKind.USER, "p", wish)
    else:
        broker.global_parameters.set("note", "y")
    return journal.kept


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("exchange/a%2Fb/e", "exchange 'e' in vhost 'a/b'"),
        ("queue/a%2Fb/q", "queue 'q' in vhost 'a/b'"),
        ("policy/a%2Fb/p", "policy 'p' in vhost 'a/b'"),
        ("global_parameter/note", "global parameter 'note'"),
    ],
)
def test_another_one_of_that_name_is_a_conflict(key: str, named: str) -> None:
    there = _another(key.partition("/")[0])
    assert _conflict(key, there) == f"{named} is another one there"


def test_the_same_policy_may_have_another_number() -> None:
    there = shared_part(_definitions())
    value = there["policy/a%2Fb/p"]
    there["policy/a%2Fb/p"] = value[:8] + b"\x63" + value[9:]
    assert _conflict("policy/a%2Fb/p", there) is None


def test_a_queue_that_is_there_already_may_be_so_if_the_folders_is_empty() -> None:
    there = shared_part(_definitions())
    value = there["queue/a%2Fb/q"]
    there["queue/a%2Fb/q"] = value[:2] + b"\x40" + value[3:]
    assert _conflict("queue/a%2Fb/q", there) is None
    why = _conflict("queue/a%2Fb/q", there, has_messages=True)
    assert (
        why == "queue 'q' in vhost 'a/b' is there already, and the one in the folder has messages"
    )
