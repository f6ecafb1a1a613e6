"""Testing with mqkit: a broker in the test's process, and a cluster of real ones, a RabbitMQ, a
PostgreSQL or an etcd for the time of a test.

The only room of mqkit that may import :mod:`reference_broker`, which is loaded when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqkit.lazy_names import lazy_names
from mqkit.testing.cluster import Cluster, ClusterUnavailable, cluster
from mqkit.testing.etcd import Etcd, EtcdUnavailable, etcd
from mqkit.testing.postgresql import PostgreSQL, PostgreSQLUnavailable, postgresql
from mqkit.testing.rabbitmq import RabbitMQ, RabbitMQUnavailable, Source, rabbitmq

if TYPE_CHECKING:
    from mqkit.testing.broker import Broker
    from mqkit.testing.deliveries import delivery
    from mqkit.testing.expectations import assert_published
    from mqkit.testing.in_process.vhost import reference_broker

__all__ = [
    "Broker",
    "Cluster",
    "ClusterUnavailable",
    "Etcd",
    "EtcdUnavailable",
    "PostgreSQL",
    "PostgreSQLUnavailable",
    "RabbitMQ",
    "RabbitMQUnavailable",
    "Source",
    "assert_published",
    "cluster",
    "delivery",
    "etcd",
    "postgresql",
    "rabbitmq",
    "reference_broker",
]

__getattr__ = lazy_names(
    __name__,
    {
        "mqkit.testing.broker": ("Broker",),
        "mqkit.testing.deliveries": ("delivery",),
        "mqkit.testing.expectations": ("assert_published",),
        "mqkit.testing.in_process.vhost": ("reference_broker",),
    },
)
