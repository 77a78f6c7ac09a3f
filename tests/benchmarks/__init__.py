"""Measurements on checkouts that the user has; none of them is a test. Each says with ``--help`` what it wants."""
