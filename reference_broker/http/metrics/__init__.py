"""``/metrics`` for Prometheus, under RabbitMQ's names.

Law: a scrape is rendered in slices, so that clients are served between them. Read ``metrics.py``
first.
"""
