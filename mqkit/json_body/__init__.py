"""JSON bodies, which pydantic reads and writes. pydantic is more than half of what importing mqkit
would cost, so these modules are imported with the first JSON body, or the first handler of one.
"""
