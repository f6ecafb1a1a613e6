"""Columns of a DataFrame, and the fields of a message that they are.

schema  the columns that there are, with their types
rows    rows into messages
"""
