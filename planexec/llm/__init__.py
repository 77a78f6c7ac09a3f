"""Floor 1: the one door to a language model."""
