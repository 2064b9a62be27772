"""Codemods: one file each, usable alone with `python -m libcst.tool codemod conformance.codemods.NAME.COMMAND`."""
