"""Columns of a DataFrame, and the fields of a message that they are.

schema         the columns that there are, with their types
values         the values of an Arrow column
rows           rows into messages
plain_rows     the same, a batch at a time, where rows are texts
header_types   headers as a column has them, into AMQP's types
header_limits  headers that AMQP has room for
headers        headers of a message that arrived, as a column
deliveries     messages that arrived, as Arrow batches
contents       their properties as they are on the wire, each kind decoded once
runs           the same batches, of messages as they are on the wire
"""
