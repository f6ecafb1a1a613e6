"""Features of the broker beyond queues, acks and dead letters: a workload for each, with its laws.

A seed has none to three of them. Each has a virtual host of its own in the same broker, on the same
log, under the same faults as everything else.
"""

from reference_broker.simulation.clients.features.actor import FeatureActor
from reference_broker.simulation.clients.features.consumers import Consumers
from reference_broker.simulation.clients.features.definitions import DefinitionsAtWork
from reference_broker.simulation.clients.features.delayed import Delayed
from reference_broker.simulation.clients.features.exclusive import Exclusive
from reference_broker.simulation.clients.features.expires import Expires
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.large import Large
from reference_broker.simulation.clients.features.policies import PoliciesAtWork
from reference_broker.simulation.clients.features.quorum import Quorum
from reference_broker.simulation.clients.features.removals import Removals
from reference_broker.simulation.clients.features.requeues import Requeues
from reference_broker.simulation.clients.features.transactions import Transactions
from reference_broker.simulation.clients.features.vhosts import VHosts
from reference_broker.simulation.clients.features.windows import Windows

FEATURES: dict[str, type[Feature]] = {
    feature.name: feature
    for feature in (
        Quorum,
        Delayed,
        Windows,
        Transactions,
        Requeues,
        PoliciesAtWork,
        VHosts,
        DefinitionsAtWork,
        Expires,
        Exclusive,
        Large,
        Consumers,
        Removals,
    )
}

__all__ = ["FEATURES", "Feature", "FeatureActor"]
