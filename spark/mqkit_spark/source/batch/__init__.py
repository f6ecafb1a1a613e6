"""A batch read of a queue.

reader   Spark's side of it: one partition, and its Arrow batches
queue    the queue's messages, once each, in order, and their fate
window   the number of messages that are in memory at a time
"""
