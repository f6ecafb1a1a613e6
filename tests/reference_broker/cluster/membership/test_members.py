"""members: who has joined."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.membership.members import Members
from reference_broker.cluster.membership.records import MemberRecord, encoded

RECORD = MemberRecord(1, "d", 1, "s", 0, "b:5672", "b:15672")


def test_who_has_joined_until_he_is_forgotten() -> None:
    reports: list[str] = []
    members = Members(reports.append)
    members.changed(Event("members/b", encoded(RECORD), 3))
    assert dict(members.by_name) == {"b": RECORD}
    members.changed(Event("members/b", b"x", 4))
    assert dict(members.by_name) == {"b": RECORD}
    assert len(reports) == 1
    members.changed(Event("members/b", None, 5))
    members.changed(Event("members/c", None, 5))
    assert dict(members.by_name) == {}
