"""The side that runs under the target project's own interpreter, inside the sandbox.

Standard library and the target's pytest only, Python 3.8 or newer, no import of the rest of planexec: ``start.py``
loads this folder under a private name, so that no module of the project under test can stand in for one of ours.
"""
