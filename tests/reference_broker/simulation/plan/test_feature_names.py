"""Names of features: one workload each, in the order that seeds draw from."""

from __future__ import annotations

from reference_broker.simulation.clients.features import FEATURES
from reference_broker.simulation.plan.feature_names import FEATURE_NAMES, vhost_of


def test_each_name_has_a_workload_in_the_order_that_seeds_draw_from() -> None:
    assert tuple(FEATURES) == FEATURE_NAMES


def test_each_feature_has_a_virtual_host_of_its_own() -> None:
    assert len({vhost_of(name) for name in FEATURE_NAMES}) == len(FEATURE_NAMES)
