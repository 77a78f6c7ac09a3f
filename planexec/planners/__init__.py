"""Floor 3: who proposes plans."""
