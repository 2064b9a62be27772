"""`python -m tests.triage PROJECT [RELEASE]`: the defects of a published release, for those who maintain it.

Markdown: for each defect its places with lines, when it shows, what happens, what to do, since when it has been there,
and how it was proven. The wheel is fetched when the cache lacks it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from conformance.check import Options, check
from tests.triage.test_triage import DATA, Key, key_of
from tests.wheels import unpacked


def corpus(project: str, release: str) -> Iterator[str]:
    """The lines of the document, worst first."""
    data = DATA[project]
    part = unpacked(project, release) / data["part"]
    lines: dict[Key, list[int]] = {}
    for finding in check(Options(paths=(str(part),), cwd=str(part))).findings:
        lines.setdefault(key_of(finding, part), []).append(finding.place.line)

    yield f"# Defects in {project} {release}\n"
    yield f"Paths are relative to `{data['part']}`.\n"
    entries = [entry for entry in data["finding"] if entry["verdict"] == "defect"]
    for entry in sorted(entries, key=lambda entry: (entry["severity"], entry["path"], entry["code"])):
        releases = entry.get("releases", data["releases"])
        if release not in releases:
            continue
        places = ", ".join(str(line) for line in lines.get(Key(*(entry[name] for name in Key._fields)), ()))
        yield f"## {entry['code']} {entry['severity']}: `{entry['parameter']}` in `{entry['function']}`\n"
        yield f"- Where: `{entry['path']}`, lines {places}"
        yield f"- Shows when: {entry['witness']}"
        yield f"- What happens: {entry['reason']}"
        if "repair" in entry:
            yield f"- What to do: {entry['repair']}"
        yield f"- First seen in {releases[-1]}, last in {releases[0]} (read: {', '.join(data['releases'])})"
        if "proof" in entry:
            yield f"- Proof: {_proof(project, entry['proof'])}"
        yield ""


def _proof(project: str, proof: str) -> str:
    module, _, title = proof.partition(": ")
    return f"`tests/proofs/{project}/{module}.py`, {title}" if title else "by reading"


if __name__ == "__main__":
    project, *release = sys.argv[1:]
    print("\n".join(corpus(project, release[0] if release else DATA[project]["releases"][0])))
