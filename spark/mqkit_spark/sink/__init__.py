"""DataFrames into queues.

writer           Spark's side of a batch write
stream_writer    Spark's side of a streaming write
publish          the same as one call that returns counts
batch_publisher  the same for foreachBatch
running          the tasks of these two, through mapInArrow
progress         a bar for the first
topology         declared before the first row
preflight        a look at the broker before the first row
task             one task: Arrow batches in, a report out
job              the first part of its automatic ids
partition_sink   messages of a partition, until each has its outcome
outgoing         the messages on their way
link             its connection
pace             its rate
patience         its timeouts
dead_letters     what no queue took, and rows that can't be messages
report           counts of a task and of a job
journal          counts in the log and in a file
"""
