"""Where `codemods/` and `allowlists/` lie: inside this package when installed from a wheel, beside it in a checkout.

Their names are too common to be installed as they are, so a wheel holds them as `conformance.codemods` and
`conformance.allowlists`, and a checkout answers to the same names.
"""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_HOME = _PACKAGE if os.path.isdir(os.path.join(_PACKAGE, "allowlists")) else os.path.dirname(_PACKAGE)


def package_path() -> list[str]:
    """The folders that hold subpackages of `conformance`: its `__path__`."""
    return list(dict.fromkeys((_PACKAGE, _HOME)))


def allowlists_dir() -> Path:
    """The folder of the profiles that come with the package."""
    return Path(_HOME, "allowlists")
