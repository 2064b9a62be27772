"""The command line: one module a command, none with logic of its own."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command `conformance` and exits: 0 clean, 1 findings shown, 2 the run itself failed."""
    try:
        from conformance.cli.app import app

        code = app.main(standalone_mode=False)
    except KeyboardInterrupt:
        code = 130
    except Exception:  # noqa: BLE001 - the process ends here, and not with status 1, which says that there are findings
        import traceback

        traceback.print_exc()
        print("error: conformance itself failed; please report this with the lines above", file=sys.stderr)
        code = 2
    sys.exit(code)
