"""Frozen records and pure arithmetic: no IO, no clock, no randomness."""
