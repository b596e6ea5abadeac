"""Fetches pip's own wheel from the index that pip's settings name, for a Python without ensurepip.

Settings are read where pip reads them: configuration files (global, user, `PIP_CONFIG_FILE`), then
`PIP_*` variables, which win. The file is pinned by its hash, so it does not matter which index it is.
"""

from __future__ import annotations

import base64
import configparser
import hashlib
import html.parser
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

WHEEL = "pip-26.3-py3-none-any.whl"
SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"
DEFAULT_INDEX = "https://pypi.org/simple"
TIMEOUT_SECONDS = 60


class NoPip(Exception):
    """pip's wheel cannot be had; the text says why and what to do."""


def config_files() -> list[Path]:
    """Pip's configuration files, weakest first (pip's manual, "Configuration files")."""
    chosen = os.environ.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return []
    home = Path.home()
    shared = os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    private = os.environ.get("XDG_CONFIG_HOME") or str(home / ".config")
    files = [
        Path(folder, "pip", "pip.conf") for folder in reversed(shared.split(os.pathsep)) if folder
    ]
    files += [Path("/etc/pip.conf"), home / ".pip" / "pip.conf", Path(private, "pip", "pip.conf")]
    return [*files, Path(chosen)] if chosen else files


def settings() -> dict[str, str]:
    """What pip would use for `pip install`: names with dashes, values as written."""
    found: dict[str, str] = {}
    for path in config_files():
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, configparser.Error) as error:
            raise NoPip(f"{path} cannot be read: {error}") from error
        for section in ("global", "install"):
            if parser.has_section(section):
                found.update({key.replace("_", "-"): value for key, value in parser.items(section)})
    for name, value in os.environ.items():
        if name.startswith("PIP_") and value:
            found[name[4:].lower().replace("_", "-")] = value
    return found


class Links(html.parser.HTMLParser):
    """The addresses on an index page (PEP 503), by file name; a page's addresses may be relative."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.found: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "base" and href:
            self.base = urllib.parse.urljoin(self.base, href)
        elif tag == "a" and href:
            url = urllib.parse.urldefrag(urllib.parse.urljoin(self.base, href)).url
            self.found[urllib.parse.unquote(url.rsplit("/", 1)[-1])] = url


class Client:
    """Reads addresses with pip's certificate and proxy settings; SSL_CERT_FILE counts by itself."""

    def __init__(self, found: dict[str, str]) -> None:
        context = ssl.create_default_context()
        if found.get("cert"):
            context.load_verify_locations(cafile=str(Path(found["cert"]).expanduser()))
        self._proxy = found.get("proxy")
        self._checked = self._opener(context)

    def _opener(self, context: ssl.SSLContext) -> urllib.request.OpenerDirector:
        handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
        if self._proxy:
            handlers.append(
                urllib.request.ProxyHandler({"http": self._proxy, "https": self._proxy})
            )
        return urllib.request.build_opener(*handlers)

    def read(self, url: str) -> tuple[str, bytes]:
        """The address finally reached, and what is there. A login in the URL becomes a header."""
        parts = urllib.parse.urlsplit(url)
        headers = {"Accept": "application/vnd.pypi.simple.v1+html, text/html;q=0.9, */*;q=0.1"}
        if parts.username is not None:
            name, password = parts.username, parts.password or ""
            pair = f"{urllib.parse.unquote(name)}:{urllib.parse.unquote(password)}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        request = urllib.request.Request(parts.geturl(), headers=headers)
        try:
            try:
                return self._open(self._checked, request)
            except urllib.error.URLError as error:
                # A bare system has no CA file at all. What is fetched is pinned by its hash, so the
                # other end need not be proven, unless it would be shown a password.
                if "CERTIFICATE_VERIFY_FAILED" not in str(error) or "Authorization" in headers:
                    raise
                unchecked = ssl._create_unverified_context()  # noqa: S323, SLF001 - pinned by hash
                return self._open(self._opener(unchecked), request)
        except (OSError, ValueError) as error:
            raise NoPip(f"{parts.geturl()}: {error}") from error

    def _open(
        self, opener: urllib.request.OpenerDirector, request: urllib.request.Request
    ) -> tuple[str, bytes]:
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            return answer.geturl(), answer.read()


def with_login(url: str, index: str) -> str:
    """The URL with the index's name and password, if it is on the index's own host."""
    parts, login = urllib.parse.urlsplit(url), urllib.parse.urlsplit(index).netloc
    return (
        parts._replace(netloc=login).geturl() if login.rpartition("@")[2] == parts.netloc else url
    )


def fetch_pip(folder: Path) -> Path:
    """Put pip's wheel into a folder, from the first index that has it, and return its path."""
    found = settings()
    indexes = [found.get("index-url") or DEFAULT_INDEX, *found.get("extra-index-url", "").split()]
    client = Client(found)
    problems = []
    for index in indexes:
        try:
            page, text = client.read(index.rstrip("/") + "/pip/")
            links = Links(page)
            links.feed(text.decode("utf-8", "replace"))
            if WHEEL not in links.found:
                raise NoPip(f"{page} does not offer {WHEEL}")
            data = client.read(with_login(links.found[WHEEL], index))[1]
            if hashlib.sha256(data).hexdigest() != SHA256:
                raise NoPip(f"{WHEEL} from {page} is not the file whose hash is pinned here")
        except NoPip as error:
            problems.append(str(error))
            continue
        target = folder / WHEEL
        target.write_bytes(data)
        return target
    raise NoPip("; ".join(problems))
