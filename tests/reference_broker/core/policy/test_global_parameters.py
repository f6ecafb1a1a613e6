"""Global parameters: kept, and bounded."""

from __future__ import annotations

import pytest

from reference_broker.core.journal.definition_store import JournalDefinitions
from reference_broker.core.policy.global_parameters import (
    MAX_GLOBAL_PARAMETERS,
    NAME_BYTES_MAX,
    VALUE_BYTES_MAX,
    GlobalParameterRefused,
    GlobalParameters,
)
from reference_broker.errors import Corrupt
from reference_broker.testing.recording_journal import RecordingJournal


def test_they_come_back() -> None:
    journal = RecordingJournal()
    parameters = GlobalParameters(JournalDefinitions(journal))
    assert parameters.set("b/é", {"a": [1, None]})
    assert parameters.set("a", None)
    assert parameters.set("c", 1)
    assert not parameters.set("a", 2)
    assert parameters.remove("c")
    assert not parameters.remove("c")
    assert parameters.items() == [("a", 2), ("b/é", {"a": [1, None]})]
    stored: dict[str, bytes] = {}
    for _, key, value in journal.records:
        if value is None:
            del stored[key]
        else:
            stored[key] = value
    after = GlobalParameters(JournalDefinitions(RecordingJournal()))
    after.restore({**stored, "queue/%2F/q": b"?"})
    assert after.items() == parameters.items()
    assert "a" in after
    assert after.get("a") == 2
    with pytest.raises(Corrupt, match="global_parameter/a"):
        after.restore({"global_parameter/a": b"{"})


def test_bounds() -> None:
    journal = RecordingJournal()
    parameters = GlobalParameters(JournalDefinitions(journal))
    with pytest.raises(GlobalParameterRefused, match="name"):
        parameters.set("n" * (NAME_BYTES_MAX + 1), 1)
    with pytest.raises(GlobalParameterRefused, match="value"):
        parameters.set("n", "v" * VALUE_BYTES_MAX)
    assert journal.records == []
    for number in range(MAX_GLOBAL_PARAMETERS):
        parameters.set(str(number), number)
    with pytest.raises(GlobalParameterRefused, match="at most"):
        parameters.set("one more", 1)
    assert not parameters.set("5", 6)


def test_the_name_of_the_cluster() -> None:
    parameters = GlobalParameters(JournalDefinitions(RecordingJournal()))
    assert parameters.cluster_name("node") == "node"
    with pytest.raises(GlobalParameterRefused, match="is a text"):
        parameters.set("cluster_name", 5)
    parameters.set("cluster_name", "")
    assert parameters.cluster_name("node") == ""
    parameters.remove("cluster_name")
    assert parameters.cluster_name("node") == "node"


def test_a_name_that_an_earlier_version_let_in_is_not_shown() -> None:
    parameters = GlobalParameters(JournalDefinitions(RecordingJournal()))
    parameters.restore({"global_parameter/cluster_name": b"5"})
    assert parameters.cluster_name("node") == "node"
