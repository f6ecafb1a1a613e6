"""keys: no cluster's keys are another's, and what a definition speaks of comes before it."""

from __future__ import annotations

import pytest

from reference_broker.cluster.metadata.keys import cluster_prefix, rank_of
from reference_broker.core.definition_kinds import KNOWN_KINDS


@pytest.mark.parametrize("name", ["prod", "prod/eu", "prod ", "ü", "a%2Fb", ""])
def test_no_cluster_is_within_another(name: str) -> None:
    prefix = cluster_prefix(name)
    assert prefix.startswith("/mqkit/")
    assert prefix.count("/") == 3
    assert not cluster_prefix(name + "x").startswith(prefix)


def test_kinds_are_ranked_by_what_they_speak_of() -> None:
    kinds = ["vhost", "user", "permission", "policy", "exchange", "queue", "binding"]
    ranks = [rank_of(f"def/{kind}/%2F/x") for kind in kinds]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)


def test_every_kind_of_definition_has_a_rank_but_those_of_a_queues_messages() -> None:
    unknown = rank_of("def/~of a later version/%2F/x")
    without = [kind for kind in KNOWN_KINDS if rank_of(f"def/{kind}/%2F/x") == unknown]
    assert without == ["counts", "count", "~delays"]


def test_rows_of_the_cluster_itself_come_first() -> None:
    assert rank_of("members/a") == rank_of("cluster") == 0 < rank_of("def/set_up/once")
