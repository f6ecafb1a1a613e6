"""mqkit.testing.scenario.verbs: the table is that of the faults."""

from __future__ import annotations

import inspect

from mqkit.testing.in_process.vhost_faults import VhostFaults
from mqkit.testing.scenario.verbs import ADVANCE, VERBS


def test_every_verb_of_the_faults_is_there_with_its_arguments() -> None:
    faults = {
        name: list(inspect.signature(method).parameters)[1:]
        for name, method in inspect.getmembers(VhostFaults, inspect.isfunction)
        if hasattr(method, "__wrapped__")
    }
    theirs = {name for name in vars(VhostFaults) if not name.startswith("_")}
    assert theirs - set(faults) == {"connections", "consumers", "end"}
    assert {name: list(verb.arguments) for name, verb in VERBS.items()} == {
        ADVANCE: ["holding"],
        **faults,
    }
