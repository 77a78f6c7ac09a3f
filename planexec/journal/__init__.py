"""Floor 1: the append-only log of events and the store of artifacts."""
