"""definition_kinds: what a later version wrote ends a start, unless it is marked as harmless."""

from __future__ import annotations

import pytest

from reference_broker.core.access.users import UserStore
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.broker import Broker
from reference_broker.core.definition_kinds import KNOWN_KINDS, refuse_unknown_kinds
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.core.policy.policy_validation import PolicyWish
from reference_broker.errors import LaterVersion
from reference_broker.testing.recording_journal import RecordingJournal


def test_it_names_the_kinds_and_the_version() -> None:
    keys = ["queue/%2F/q", "stream/%2F/s", "ledger/x", "stream/%2F/t"]
    text = "version 1.2.3 of this broker doesn't know: 'ledger', 'stream'"
    with pytest.raises(LaterVersion, match=text):
        refuse_unknown_kinds(keys, "1.2.3")


@pytest.mark.parametrize("key", [*(f"{kind}/x" for kind in KNOWN_KINDS), "~hint/%2F/q"])
def test_what_is_known_or_may_be_passed_over(key: str) -> None:
    refuse_unknown_kinds([key], "1")


def test_a_broker_does_not_start_with_it() -> None:
    broker = Broker(MemoryJournal(), UserStore(), version="1.2.3")
    with pytest.raises(LaterVersion, match="'stream'"):
        broker.restore({"stream/%2F/s": b"?"})


def test_what_this_version_writes_is_known() -> None:
    journal = RecordingJournal()
    broker = Broker(journal, UserStore(), version="1")
    vhost = broker.add_vhost("v", VHostInfo())
    window = {"x-message-id-window": 5}
    vhost.declare_exchange(
        "x", "x-delayed-message", durable=True, arguments={"x-delayed-type": "fanout"} | window
    )
    vhost.declare_queue("q", durable=True, arguments=window)
    vhost.bind("x", "q", "", destination_is_queue=True)
    wish = PolicyWish.parse(PolicyKind.USER, "p", {"pattern": "", "definition": {"expires": 5}})
    vhost.policies.set(PolicyKind.USER, "p", wish)
    broker.global_parameters.set("a", 1)
    written = [record[1] for record in journal.records if record[0] == "define"]
    assert len({key.partition("/")[0] for key in written}) >= 8
    refuse_unknown_kinds(written, "1")
