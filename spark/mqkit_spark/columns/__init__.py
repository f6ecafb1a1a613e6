"""Columns of a DataFrame, and the fields of a message that they are.

schema        the columns that there are, with their types
rows          rows into messages
header_types  headers as a column has them, into AMQP's types
headers       headers of a message that arrived, as a column
deliveries    messages that arrived, as Arrow batches
"""
