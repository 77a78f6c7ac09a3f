"""Floor 2: what an executor may act with."""
