"""`python -m conformance`, the same as the command `conformance`."""

import os
import sys

if __name__ == "__main__":
    # Python puts the working directory first; a `click.py` in the tree under check must not be what is imported.
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.path and sys.path[0] in ("", os.getcwd()) and sys.path[0] != here:
        del sys.path[0]
    from conformance.cli import main

    main()
