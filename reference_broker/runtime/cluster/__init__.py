"""The sockets of a node's links, and the thread of their heartbeats. Imported only by a node of a
cluster.
"""
