"""The metrics of a node of a cluster: what its rooms count, as families for Prometheus, which
``/metrics`` shows and this room does not know. Read :mod:`node_metrics` first.

The law: nothing is counted here, and nothing is as long as the queues or messages are many: a
scrape reads as many numbers as there are members.
"""
