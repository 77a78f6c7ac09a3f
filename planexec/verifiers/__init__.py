"""Floor 2: what judges."""
