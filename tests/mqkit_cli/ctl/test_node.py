"""cluster_status of a cluster: who runs, and who does not and why."""

from __future__ import annotations

from mqkit_cli.ctl.node import members_lines


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
