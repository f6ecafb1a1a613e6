"""Testing with mqkit: a real RabbitMQ for the time of a test.

The only room of mqkit that may import :mod:`reference_broker`.
"""

from mqkit.testing.rabbitmq import RabbitMQ, RabbitMQUnavailable, Source, rabbitmq

__all__ = ["RabbitMQ", "RabbitMQUnavailable", "Source", "rabbitmq"]
