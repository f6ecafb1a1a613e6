"""Queues into DataFrames.

batch/  a read that has an end
"""
