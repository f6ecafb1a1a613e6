"""The findings in a file's text, or of declarations on a broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from mqkit.declaration import Declaration
from mqkit.topology import Finding, Snapshot, check, examine
from mqkit.topology.policy.policy_model import PolicyModel

Said: TypeAlias = dict[tuple[str, str], Finding]
"""Findings by check and name."""


def by_check(found: tuple[Finding, ...]) -> Said:
    said = {(str(finding.check), finding.name): finding for finding in found}
    assert len(said) == len(found), "the same was said twice"
    return said


@pytest.fixture
def of_file() -> Callable[..., Said]:
    def said(text: str, snapshot: Snapshot | None = None, **more: Any) -> Said:
        topology, _ = check(text, "t.yaml")
        return by_check(examine(topology, snapshot, **more))

    return said


@pytest.fixture
def live() -> Callable[..., Snapshot]:
    """A snapshot, with messages and consumers of some queues."""

    def snapshot(
        *declarations: Declaration, counts: Mapping[str, tuple[int, int]] | None = None
    ) -> Snapshot:
        found = Snapshot.of("/", declarations)
        given = counts or {}
        queues = (
            replace(it, messages=given[it.queue.name][0], consumers=given[it.queue.name][1])
            if it.queue.name in given
            else it
            for it in found.queues
        )
        return replace(found, queues=tuple(queues))

    return snapshot


@pytest.fixture
def of_broker(live: Callable[..., Snapshot]) -> Callable[..., Said]:
    def said(
        *declarations: Declaration,
        counts: Mapping[str, tuple[int, int]] | None = None,
        policies: tuple[PolicyModel, ...] = (),
        **more: Any,
    ) -> Said:
        snapshot = replace(live(*declarations, counts=counts), policies=policies)
        return by_check(examine(None, snapshot, **more))

    return said
