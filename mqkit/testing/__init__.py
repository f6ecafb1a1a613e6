"""Testing with mqkit: a real RabbitMQ, and a real PostgreSQL, for the time of a test.

The only room of mqkit that may import :mod:`reference_broker`.
"""

from mqkit.testing.postgresql import PostgreSQL, PostgreSQLUnavailable, postgresql
from mqkit.testing.rabbitmq import RabbitMQ, RabbitMQUnavailable, Source, rabbitmq

__all__ = [
    "PostgreSQL",
    "PostgreSQLUnavailable",
    "RabbitMQ",
    "RabbitMQUnavailable",
    "Source",
    "postgresql",
    "rabbitmq",
]
