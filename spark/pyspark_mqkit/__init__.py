"""The shim by which Spark finds ``format("amqp")`` by itself.

Spark imports every top-level module named ``pyspark_*`` and takes its ``DefaultSource``. If one of
them raises, it finds none at all; so importing this one never does: where mqkit's Spark part can't
be imported, there is no ``DefaultSource`` here, and ``format("amqp")`` is unknown. Who asks this
module for it is told why, by the :exc:`AttributeError`.
"""

from typing import NoReturn

try:
    from mqkit_spark.datasource import AmqpDataSource as DefaultSource
except Exception as _error:  # noqa: BLE001 - see above: other data sources must go on
    _why = str(_error)

    def __getattr__(name: str) -> NoReturn:
        reason = f" ({_why})" if name == "DefaultSource" else ""
        raise AttributeError(f"module 'pyspark_mqkit' has no attribute {name!r}{reason}")

else:
    __all__ = ["DefaultSource"]
