"""Floor 2: what models are told. Each prompt is a file; its text is fixed, its gaps are filled from state."""
