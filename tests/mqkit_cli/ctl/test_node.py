"""cluster_status of a cluster: who runs, and who does not and why."""

from __future__ import annotations

from mqkit_cli.ctl.node import members_lines


def test_a_paused_node_is_listed_with_its_reason() -> None:
    members = [
        {"name": "a", "state": "paused", "running": False, "reason": "node 'a' is cut off"},
        {"name": "b", "state": "running", "running": True, "reason": ""},
        {"name": "c", "state": "paused", "running": False},
    ]
    assert members_lines({"members": members, "revision": 3}) == [
        "b",
        "", "Paused Nodes", "", "a: node 'a' is cut off", "c: no reason known",
        "", "Revision: 3",
    ]  # fmt: skip


def test_the_members_by_their_states() -> None:
    states = {"a": "running", "b": "draining", "c": "unreachable", "d": "down", "e": "running"}
    members = [
        {"name": name, "state": state, "running": state in ("running", "draining")}
        for name, state in states.items()
    ]
    assert members_lines({"members": members, "revision": 17}) == [
        "a", "b", "e",
        "", "Nodes Under Maintenance", "", "b",
        "", "Unreachable Nodes", "", "c",
        "", "Nodes That Are Down", "", "d",
        "", "Revision: 17",
    ]  # fmt: skip
    assert members_lines({"members": members[:1], "revision": 3}) == ["a", "", "Revision: 3"]
