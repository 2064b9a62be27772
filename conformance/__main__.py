"""`python -m conformance`, the same as the command `conformance`."""

from conformance.cli import main

if __name__ == "__main__":
    main()
