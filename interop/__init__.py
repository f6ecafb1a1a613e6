"""Is the reference broker RabbitMQ to those who know only RabbitMQ? ``python -m interop`` asks.

``interop.suites`` runs the tests that other people's clients ship, ``interop.differential`` runs
generated sequences of operations; both against RabbitMQ and against the reference broker.
"""
