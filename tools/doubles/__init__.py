"""Doubles shipped for tests and rehearsals: they say everywhere that they are."""
