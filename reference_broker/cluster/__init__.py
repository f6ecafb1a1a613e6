"""Several nodes that are one broker: metadata in etcd, and every queue at a home.

No I/O, no clock, no event loop, as the core: answers of etcd and frames of other nodes are inputs.
"""
