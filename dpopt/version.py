"""Which dpopt this is.

What is put on file says by which version it was written. The build of the package reads the version here, too, and a
release of dpopt changes it here alone.
"""

__version__ = "0.1.0"
