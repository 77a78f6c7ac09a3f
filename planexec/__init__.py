"""planexec fixes bugs in a local git repository by Plan-and-Execute, and proves each fix."""

__version__ = "0.1.0"
