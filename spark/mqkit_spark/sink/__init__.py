"""DataFrames into queues.

writer          Spark's side of a batch write
publish         the same as one call that returns counts
task            one task: Arrow batches in, a report out
partition_sink  messages of a partition, until each has its outcome
report          counts of a task and of a job
"""
