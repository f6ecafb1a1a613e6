"""Queues that have their home on another node of the cluster, as the core sees them: what it asks
of their home (:mod:`ports`), the queue that stands in for each, and how messages that are here go
there (:mod:`forward`, :mod:`remote_transfer`).

What answers is the room ``cluster/queues``; the core knows no link and no node but by these ports.
"""
