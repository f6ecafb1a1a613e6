"""Migrations of the tables. One that was released is not changed any more."""
