"""Floor 0: the words of the field. Pure: no file, no process, no clock, no network."""
