"""`python -m simharness`."""

from simharness.cli import main

if __name__ == "__main__":
    main()
