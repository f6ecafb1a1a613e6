"""Dead ends of a topology: where a message would be lost, or lie for good, and what mends it.

Start at ``examine.py``; each check is a function from the objects to findings.
"""
