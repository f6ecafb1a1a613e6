"""All that a file wants of a broker: declarations and policies, and what it leaves to others.
Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mqkit.declaration import Declaration
from mqkit.topology.compile import compile_topology
from mqkit.topology.model import Topology
from mqkit.topology.policy.own import compile_policies, own_name
from mqkit.topology.policy.policy_model import PolicyModel


@dataclass(frozen=True, slots=True)
class Wanted:
    """A topology, compiled for one broker.

    ``own_policies`` are the names of the policies of queues' own that the file decides about,
    whether it wants them or not. ``external_exchanges`` and ``external_queues`` are somebody
    else's, and never touched.
    """

    declarations: tuple[Declaration, ...]
    policies: tuple[PolicyModel, ...] = ()
    own_policies: frozenset[str] = frozenset()
    external_exchanges: frozenset[str] = frozenset()
    external_queues: frozenset[str] = frozenset()

    @classmethod
    def of(cls, topology: Topology, live: Iterable[PolicyModel] = ()) -> Wanted:
        """The objects that ``topology`` wants of a broker that has the policies ``live``."""
        return cls(
            compile_topology(topology),
            compile_policies(topology, live),
            frozenset(own_name(model.name) for model in topology.queues if not model.external),
            frozenset(model.name for model in topology.exchanges if model.external),
            frozenset(model.name for model in topology.queues if model.external),
        )
