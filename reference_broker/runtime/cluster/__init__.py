"""The sockets of a node's links, the thread of their heartbeats, and the node's metrics. Imported
only by a node of a cluster.
"""
