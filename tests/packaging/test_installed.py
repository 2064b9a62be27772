"""The package works the same installed from a wheel, installed as editable, and run from a checkout.

Installing needs no network: the dependencies and the build backend are those of the interpreter that runs the tests.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
OURS = ("conformance", "codemods", "allowlists")

LOOK = """
import json, sys
{prelude}
import conformance, conformance.codemods
from conformance.layout import allowlists_dir
import codemods
print(json.dumps({{
    "conformance": conformance.__file__,
    "codemods": conformance.codemods.__file__,
    "allowlists": str(allowlists_dir()),
    "profiles": sorted(file.name for file in allowlists_dir().iterdir() if file.suffix == ".toml"),
    "user": codemods.__file__,
}}))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, for building writes beside the sources."""
    copy = tmp_path_factory.mktemp("checkout")
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in (*OURS, "tests"):
        shutil.copytree(REPOSITORY / name, copy / name, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy)
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--wheel-dir", folder, checkout)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def from_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    pip("install", "--target", target, wheel)
    return target


@pytest.fixture(scope="module")
def as_editable(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("editable")
    pip("install", "--target", target, "--editable", checkout)
    return target


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A user's project with folders of the same names as ours."""
    for name in ("codemods", "allowlists", "tests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    return tmp_path


def pip(command: str, *arguments: Path | str) -> None:
    quiet = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--no-index")
    run([sys.executable, "-m", "pip", command, *quiet, *map(str, arguments)], REPOSITORY)


def run(command: list[str], cwd: Path, status: int = 0, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def look(user: Path, path: Path, prelude: str = "") -> dict[str, Any]:
    """What an interpreter with `path` on its search path finds when it runs in the user's project.

    It doesn't know what is installed for the tests, which may be another install of this package.
    """
    command = [sys.executable, "-S", "-c", LOOK.format(prelude=prelude)]
    seen: dict[str, Any] = json.loads(run(command, user, PYTHONPATH=str(path)))
    return seen


def profiles() -> list[str]:
    names = sorted(file.name for file in (REPOSITORY / "allowlists").glob("*.toml"))
    assert "torch.toml" in names
    return names


def test_packages_are_those_of_the_folders() -> None:
    """A package that `pyproject.toml` forgets would be missing from the wheel."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)["tool"]["setuptools"]
    mapped = settings["package-dir"]
    found = {
        str(init.parent.relative_to(REPOSITORY)).replace(os.sep, ".")
        for init in (REPOSITORY / "conformance").rglob("__init__.py")
    }
    assert sorted(settings["packages"]) == sorted(found | mapped.keys())
    for name, folder in mapped.items():
        assert name == f"conformance.{folder}"
        assert (REPOSITORY / folder).is_dir()


def test_wheel_holds_every_source_and_nothing_else(wheel: Path) -> None:
    kept = {".py", ".json", ".toml", ".typed"}
    expected = {
        str(
            file.relative_to(REPOSITORY) if name == "conformance" else Path("conformance", file.relative_to(REPOSITORY))
        )
        for name in OURS
        for file in (REPOSITORY / name).rglob("*")
        if file.suffix in kept or file.name == "py.typed"
    }
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        assert "License-Expression: Apache-2.0" in archive.read(metadata).decode().splitlines()
    assert names == expected


def test_wheel_installs_one_name(from_wheel: Path) -> None:
    names = {entry.name for entry in from_wheel.iterdir()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"bin", "conformance"}
    assert [entry.name for entry in (from_wheel / "bin").iterdir()] == ["conformance"]


def test_wheel(from_wheel: Path, user: Path) -> None:
    seen = look(user, from_wheel)
    package = from_wheel / "conformance"
    assert seen == {
        "conformance": str(package / "__init__.py"),
        "codemods": str(package / "codemods" / "__init__.py"),
        "allowlists": str(package / "allowlists"),
        "profiles": profiles(),
        "user": str(user / "codemods" / "__init__.py"),
    }


def test_editable_installs_no_generic_name(as_editable: Path) -> None:
    names = {entry.name for entry in as_editable.iterdir() if entry.name != "__pycache__"}
    assert not {name for name in names if name.split(".")[0] in ("codemods", "allowlists", "tests", "benchmarks")}
    # Nor by way of a folder on the search path.
    for line in "\n".join(file.read_text() for file in as_editable.glob("*.pth")).splitlines():
        assert line.startswith("import ")
    code = (
        f"import site, importlib.util as u; site.addsitedir({str(as_editable)!r}); print(*map(u.find_spec, {OURS[1:]}))"
    )
    assert run([sys.executable, "-I", "-c", code], as_editable).split() == ["None", "None"]


def test_editable(as_editable: Path, checkout: Path, user: Path) -> None:
    prelude = f"import site; site.addsitedir({str(as_editable)!r})"
    assert look(user, user, prelude) == in_place(checkout, user)


def test_checkout(checkout: Path, user: Path) -> None:
    assert look(user, checkout) == in_place(checkout, user)


def in_place(checkout: Path, user: Path) -> dict[str, Any]:
    return {
        "conformance": str(checkout / "conformance" / "__init__.py"),
        "codemods": str(checkout / "codemods" / "__init__.py"),
        "allowlists": str(checkout / "allowlists"),
        "profiles": profiles(),
        "user": str(user / "codemods" / "__init__.py"),
    }


@pytest.mark.parametrize("way", ["wheel", "checkout"])
def test_command(way: str, request: pytest.FixtureRequest, user: Path) -> None:
    """The command runs in a user's project, whose folders of the same names don't get in its way."""
    path: Path = request.getfixturevalue({"wheel": "from_wheel", "checkout": "checkout"}[way])
    (user / "model.py").write_text("x = 1\n")
    commands = [[sys.executable, "-m", "conformance"]]
    if way == "wheel":
        commands.append([str(path / "bin" / "conformance")])
    for command in commands:
        run([*command, "check", "model.py"], user, PYTHONPATH=str(path))
        assert "CF900" in run([*command, "rules"], user, PYTHONPATH=str(path))


def test_source_distribution_builds_the_same_wheel(checkout: Path, wheel: Path, tmp_path: Path) -> None:
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    run([sys.executable, "-c", code], checkout)
    (source,) = tmp_path.glob("*.tar.gz")
    pip("wheel", "--wheel-dir", tmp_path, source)
    (again,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())
