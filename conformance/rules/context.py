"""What a rule is given: the linked project and its call paths, and makers for findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.callpaths.interpreter import Interpreter
from conformance.callpaths.paths import CallPaths, Entry
from conformance.callpaths.trace import Site
from conformance.findings import Finding, Related, Role, Severity
from conformance.project.project import Project
from conformance.rules.base import RuleInfo


@dataclass(frozen=True, slots=True)
class Context:
    """One run's facts. Rules ask; nothing here walks a tree."""

    rule: RuleInfo
    project: Project
    calls: CallPaths
    entries: Sequence[Entry]
    files: Sequence[str] = ()
    """The given files that were read in full."""
    preview: bool = False
    """Whether parts of rules that are on trial are wanted."""

    @property
    def interpreter(self) -> Interpreter:
        return self.calls.interpreter

    def finding(
        self,
        site: Site,
        message: str,
        *,
        severity: Severity | None = None,
        parameter: str = "",
        text: str | None = None,
        witness: str | None = None,
        related: Sequence[Related] = (),
    ) -> Finding:
        """A finding of this rule at a site."""
        return Finding(
            code=self.rule.code,
            name=self.rule.name,
            severity=severity or self.rule.severity,
            place=self.calls.place(site),
            message=message,
            class_name=site.class_name,
            function=site.function,
            parameter=parameter,
            text=self.text(site) if text is None else text,
            witness=witness,
            related=tuple(related),
        )

    def statement(self, site: Site) -> Site:
        """A site that is known by its line: the whole line, without the white space around it."""
        line = self.project.lines(site.path)[site.span.line - 1].encode("utf-8", "surrogatepass")
        start = len(line) - len(line.lstrip())
        return site._replace(span=site.span._replace(column=start, end_column=len(line.rstrip())))

    def related(self, role: Role, site: Site, message: str) -> Related:
        """Another place that a finding speaks of."""
        return Related(role, self.calls.place(site), message)

    def line(self, site: Site) -> Site:
        """The whole line at which a site begins: for statements of which no more is known."""
        lines = self.project.lines(site.path)[site.span.line - 1 : site.span.line]
        if not lines:
            return site
        line = lines[0].encode("utf-8", "surrogatepass")
        start, end = len(line) - len(line.lstrip()), len(line.rstrip())
        span = site.span._replace(column=start, end_line=site.span.line, end_column=end)
        return site._replace(span=span)

    def text(self, site: Site) -> str:
        """The source of a site, white space folded."""
        span = site.span
        lines = self.project.lines(site.path)[span.line - 1 : span.end_line]
        if not lines:
            return ""
        encoded = [line.encode("utf-8", "surrogatepass") for line in lines]
        if len(encoded) == 1:
            encoded[0] = encoded[0][span.column : span.end_column]
        else:
            encoded[0] = encoded[0][span.column :]
            encoded[-1] = encoded[-1][: span.end_column]
        return " ".join(b"".join(encoded).decode("utf-8", "replace").split())
