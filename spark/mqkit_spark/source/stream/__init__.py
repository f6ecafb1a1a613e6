"""A queue as a stream. Its options are in mqkit_spark.options.stream_read.

choice         the reader that the options ask for
spool_stream   Spark's side, mode=spool
driver_stream  Spark's side, mode=driver
offset         the name of a batch
planning       its size and shares
limits         Spark's limits of it
gauge          the depth of the queue
held           a batch in memory, mode=driver
intake         messages out of the queue
wide_intake    more of them than a channel may hold
patience       with a broker that is away
spool/         a folder that a batch lies in until Spark has finished it
"""
