"""The Spark sink under faults that are really made: every row must be in the queue.

    python -m interop.spark_sink --broker reference --kind killed-worker --rounds 20 --seed 7

A Spark job runs as a process of its own and publishes rows, round by round, while its tasks fail,
its Python workers are killed, Spark speculates, or the whole driver is killed. Then the queues are
read with pika. The ids that must be there are computed from the rows, not asked of mqkit; only the
Spark programs import it.

plan        the rounds of a run, by a seed
rows        the rows of a round, and the ids that they must have. Pure
faults      run in front of the sink, in its tasks
program     the driver program of batch jobs; stream_program that of streams
driver      the process of such a program
watch       which rows have come so far
writers     processes that have a connection to the broker
striker     the blow at tasks that wait for it
queues      exchanges and queues of a round, with pika
judgement   the promises of a batch job, judged by what was found; stream_judgement those of a
            stream. Pure
batch_run   a run of batch jobs; stream_run one of a stream
"""
