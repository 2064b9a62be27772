"""Ignore rules are what git says they are: real git is the oracle."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.sources.discovery import discover

FILES = (
    "top.py",
    "a.py",
    "#c.py",
    "!d.py",
    "e .py",
    "[f].py",
    "a/a.py",
    "a/keep.py",
    "a/b/a.py",
    "a/b/x.py",
    "a/b/c/keep.py",
    "b/a/top.py",
    "b/x.py",
    "build/keep.py",
    "build/lib/x.py",
    "c/a.py/x.py",
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    git(root, "init", "--quiet")
    for name in FILES:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return root


def git(root: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def seen_by_git(root: Path) -> set[str]:
    names = git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return {name for name in names if name.endswith(".py")}


def seen_by_us(root: Path, folder: str = ".") -> set[str]:
    found = discover([folder], cwd=str(root))
    return {os.path.relpath(file.path, root) for file in found.files}


PATTERNS = (
    ("*.py", "!keep.py"),
    ("a/",),
    ("/a",),
    ("a/b",),
    ("a/*", "!a/b/"),
    ("a/**", "!a/keep.py"),
    ("a/**/keep.py",),
    ("**/b",),
    ("**/b/**",),
    ("**",),
    ("*", "!*/", "!keep*.py"),
    ("build/", "!build/keep.py"),
    ("build", "!build/keep.py"),
    ("*.py", "!b"),
    ("*", "!b"),
    ("/*", "!/b/"),
    (r"\#c.py", r"\!d.py"),
    ("#c.py",),
    ("!",),
    ("/",),
    ("a\\",),
    (r"e\ .py", "a.py  "),
    ("[[]f].py",),
    ("[a-c].py", "[!a-z]d.py"),
    ("[^a]",),
    ("[z-a].py",),
    ("[[:alpha:]].py",),
    ("[[:nonsense:]].py", "[a"),
    ("?.py", "a?b"),
    ("a.py/",),
    ("***/x.py",),
    ("x**.py", "a**b"),
    ("\ufefftop.py\r", "b/x.py\r"),
)


@pytest.mark.parametrize("lines", PATTERNS, ids="  ".join)
def test_as_git(repository: Path, lines: tuple[str, ...]) -> None:
    (repository / ".gitignore").write_bytes("\n".join(lines).encode())
    assert seen_by_us(repository) == seen_by_git(repository)


def test_the_patterns_tell_something(repository: Path) -> None:
    """Guards the test above: git ignores something, and leaves something, for most of the patterns."""
    outcomes = set()
    for lines in PATTERNS:
        (repository / ".gitignore").write_bytes("\n".join(lines).encode())
        outcomes.add(frozenset(seen_by_git(repository)))
    assert len(outcomes) > 20


PIECES = st.sampled_from(
    (
        "a",
        "b",
        "x",
        "keep",
        "build",
        ".py",
        "top.py",
        "*",
        "**",
        "?",
        "/",
        "/",
        "[a-c]",
        "[!b]",
        "[[:lower:]]",
        "\\",
        " ",
    )
)
LINES = st.lists(
    st.builds(
        str.__add__, st.sampled_from(("", "", "!", "/")), st.lists(PIECES, min_size=1, max_size=5).map("".join)
    ).filter(lambda line: not re.search(r"[^/!*]\*\*+/", line)),  # git itself strays from its manual in `a**/b`
    min_size=1,
    max_size=4,
)


@settings(
    max_examples=int(os.environ.get("CONFORMANCE_EXAMPLES", "60")),
    deadline=None,
    derandomize="CONFORMANCE_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(outer=LINES, inner=LINES)
def test_random_patterns_as_git(repository: Path, outer: list[str], inner: list[str]) -> None:
    nested = repository / "a" / ".gitignore"
    (repository / ".gitignore").write_text("\n".join(outer))
    nested.write_text("\n".join(inner))
    try:
        assert seen_by_us(repository) == seen_by_git(repository)
    finally:
        nested.unlink()


def test_nested_file_wins_and_is_relative_to_its_folder(repository: Path) -> None:
    (repository / ".gitignore").write_text("keep.py\n")
    nested = repository / "a" / ".gitignore"
    nested.write_text("!keep.py\n/b/x.py\n")
    try:
        found = seen_by_us(repository)
        assert found == seen_by_git(repository)
    finally:
        nested.unlink()
    assert {"a/keep.py", "a/b/c/keep.py"} <= found
    assert not {"a/b/x.py", "build/keep.py"} & found


def test_folder_inside_a_repository_keeps_the_rules_above_it(repository: Path) -> None:
    (repository / ".gitignore").write_text("/a/b/x.py\n")
    assert seen_by_us(repository, "a/b") == {"a/b/a.py", "a/b/c/keep.py"}


def test_named_ignored_folder_is_walked(repository: Path) -> None:
    (repository / ".gitignore").write_text("build/\n")
    assert seen_by_us(repository, "build/lib") == {"build/lib/x.py"}


def test_exclude_file_of_the_repository(repository: Path) -> None:
    (repository / ".gitignore").write_text("!a.py\n")
    exclude = repository / ".git" / "info" / "exclude"
    exclude.write_text("*.py\n")
    try:
        found = seen_by_us(repository)
        assert found == seen_by_git(repository)
    finally:
        exclude.write_text("")
    assert found == {"a.py", "a/a.py", "a/b/a.py"}


def test_exclude_file_of_a_work_tree_is_that_of_its_main_repository(tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    main.mkdir()
    git(main, "init", "--quiet")
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    git(main, *identity, "commit", "--quiet", "--allow-empty", "--message", "first")
    git(main, "worktree", "add", "--quiet", str(tree))
    (main / ".git" / "info" / "exclude").write_text("hidden.py\n")
    (tree / "hidden.py").touch()
    (tree / "seen.py").touch()
    assert seen_by_us(tree) == seen_by_git(tree) == {"seen.py"}


def test_repository_inside_another_has_its_own_rules(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitignore").write_text("x.py\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    (inner / ".gitignore").write_text("y.py\n")
    for folder in (tmp_path, inner):
        for name in ("x.py", "y.py"):
            (folder / name).touch()
    assert seen_by_us(tmp_path) == {"y.py", "inner/x.py"}


def test_without_a_repository_ignore_files_in_the_folder_count(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("x.py\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".gitignore").write_text("y.py\n")
    for name in ("x.py", "y.py"):
        (folder / name).touch()
    assert seen_by_us(tmp_path, "folder") == {"folder/x.py"}
    assert seen_by_us(tmp_path) == set()
