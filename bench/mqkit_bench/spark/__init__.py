"""``mqkit bench spark``: DataFrames into queues and back, beside what people write by hand.

command, memory           the commands
rows                      the rows, prepared once for all
stage                     one broker's queue, the rows and the Spark session
contestant                who competes, in which direction
sinks, sources, by_pika   the plays of the contestants
frames, writers           the rows pre-encoded, and raw sockets
processes                 CPU and memory of Spark's JVM and of its Python workers
rounds, table             turns, and the result
"""
