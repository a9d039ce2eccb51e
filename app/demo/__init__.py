"""The demo: hourly PV and UV from a real PostgreSQL log table, with two real faults."""
