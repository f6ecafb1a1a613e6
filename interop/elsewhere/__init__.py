"""A broker of two nodes whose clients are on one, and whose queues are on the other.

The tests that one broker passes are played on it once more, by ``pytest --on-cluster
tests/acceptance``, of which none is left out, and ``make interop-cluster``. :mod:`cluster` starts
it, :mod:`node` is the process of a node.
"""
