"""Several nodes of a cluster over one simulated etcd: the real metadata code, clients that declare
and delete at any node, faults, and the laws.

Queues and links are not here yet: a node is the metadata of one, and heartbeats go by plain wires.
"""
