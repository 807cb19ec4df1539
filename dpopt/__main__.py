"""`python -m dpopt` is the command `dpopt`."""

from __future__ import annotations

from dpopt.cli.main import main

if __name__ == "__main__":
    main()
