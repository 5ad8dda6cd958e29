"""Reports as files: HTML, Markdown, JSON, and PDF printed by a browser."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from datasphinx.agent.errors import Unavailable
from datasphinx.agent.messages import Language
from datasphinx.agent.record.step import Audit
from datasphinx.agent.report.html import html_of
from datasphinx.agent.report.markdown import cost_of, markdown_of
from datasphinx.agent.types import REPORT_SUFFIXES, ClarifyingQuestion, Report

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PRINT_S = 60


@dataclass(frozen=True)
class ReportResponse:
    """The outcome of a request for a report: the report, or a question to the user, which `reply` answers."""

    report: Report | None
    clarification: ClarifyingQuestion | None
    audit: Audit
    language: Language = "en"
    reply: "Callable[[str], ReportResponse] | None" = field(default=None, repr=False, compare=False)
    """Answers `clarification`; None without one."""

    def __str__(self) -> str:
        return self.clarification["question"] if self.clarification else self.markdown

    def _repr_html_(self) -> str:
        return self.html if self.report else ""

    @property
    def markdown(self) -> str:
        """The report as Markdown."""
        return f"{markdown_of(self._written, self.language)}\n\n{cost_of(self.audit, self.language)}\n"

    @property
    def html(self) -> str:
        """The report as one HTML document without external requests."""
        return html_of(self._written, self.language, self.audit)

    @property
    def _written(self) -> Report:
        if self.report is None:
            raise ValueError("there is no report: answer `clarification` first")
        return self.report

    def content(self, suffix: str) -> bytes:
        """Return the report as a file: `.html`, `.md`, `.json`, or `.pdf`, printed by a browser.

        Raises:
            ValueError: the suffix is not supported, or there is no report yet.
        """
        if suffix == ".pdf":
            return pdf_of(self.html)
        if suffix not in REPORT_SUFFIXES:
            raise ValueError(f"a report is saved as {', '.join(REPORT_SUFFIXES)}, not as {suffix}")
        content = {"report": self._written, "audit": self.audit}
        texts = {".html": lambda: self.html, ".md": lambda: self.markdown, ".json": lambda: json_of(content)}
        return texts[suffix]().encode()

    def save(self, path: str | Path) -> Path:
        """Write `content` to `path` by its suffix, and return the path."""
        target = Path(path)
        target.write_bytes(self.content(target.suffix.lower()))
        return target


def json_of(content: object) -> str:
    """Return the JSON text of a report."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def pdf_of(html: str) -> bytes:
    """Return the pages of a document as PDF, printed by Chromium or Chrome.

    Raises:
        Unavailable: none of them is installed, or it printed nothing.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise Unavailable("browser_missing", names=", ".join(_BROWSERS[:3]))
    with tempfile.TemporaryDirectory() as folder:
        page, pdf = Path(folder, "report.html"), Path(folder, "report.pdf")
        page.write_text(html, encoding="utf-8")
        # Its sandbox cannot be used by root, as in containers; the page has no scripts and loads nothing.
        options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [browser, "--headless", "--disable-gpu", f"--user-data-dir={folder}/profile", *options]
        command += ["--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri()]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_PRINT_S)
            return pdf.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise Unavailable("browser_failed", browser=browser, reason=type(error).__name__) from error
