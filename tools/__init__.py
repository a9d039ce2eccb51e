"""Every effect: calling tools and models, the ledger, long-term memory, persistence."""
