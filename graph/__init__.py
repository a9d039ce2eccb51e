"""Wiring only: the two loops, their routes, rollback and the Studio entry."""
