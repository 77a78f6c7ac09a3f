"""Tests of floor 0: pure functions of values."""
