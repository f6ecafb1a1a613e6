"""The shim by which Spark finds ``format("amqp")`` by itself.

Spark imports every top-level module named ``pyspark_*`` and takes its ``DefaultSource``. If one of
them raises, it finds none at all; so this one never does: where mqkit's Spark part can't be
imported, there is no ``DefaultSource`` here, and ``format("amqp")`` is unknown.
"""

try:
    from mqkit_spark.datasource import AmqpDataSource as DefaultSource
except Exception:  # noqa: BLE001, S110 - see above: whatever it is, other data sources must go on
    pass
else:
    __all__ = ["DefaultSource"]
