"""Several nodes of a cluster over one simulated etcd: real brokers whose queues have homes, clients
that declare and delete at any node, clients with messages (:mod:`messages`), faults, and the laws.

The disks of nodes are not here yet: a process takes its messages with it.
"""
