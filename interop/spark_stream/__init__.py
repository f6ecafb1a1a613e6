"""Driver, workers and broker are killed while a queue flows into Parquet files by Spark.

The result is judged by pika and pyarrow alone (``python -m interop.spark_stream``).
"""
