"""Download of one file of a package index, without pip: configuration, lookup, and a download that can be resumed.

The configuration of pip and uv applies: `PIP_INDEX_URL`, `PIP_EXTRA_INDEX_URL`, `PIP_FIND_LINKS`, `PIP_NO_INDEX`,
`PIP_CERT`, `PIP_CONFIG_FILE`, `UV_DEFAULT_INDEX`, `UV_INDEX_URL`, `UV_INDEX`, `UV_EXTRA_INDEX_URL`, and the files
`pip.conf`. Proxies are taken from `HTTPS_PROXY` and the like.
"""

import configparser
import os
import re
import ssl
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

if TYPE_CHECKING:
    import httpx

PYPI = "https://pypi.org/simple"

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
_TIMEOUT_S = 30.0
_CONNECT_TIMEOUT_S = 10.0
"""Shorter, since another place is tried where a network drops packets to one."""
_ATTEMPTS = 5
_FALSE = ("", "0", "false", "no", "off", "n", "f")


@dataclass(frozen=True)
class IndexConfig:
    """Package indexes in the order in which they are tried, and folders that hold wheels."""

    indexes: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    ca_file: str | None = None
    """A file or folder of certificate authorities, in addition to those of the system."""


def index_config(environ: Mapping[str, str] = os.environ, prefix: str = sys.prefix) -> IndexConfig:
    """Return the configuration of pip and uv; the environment takes precedence over the files `pip.conf`."""
    pip = _pip_options(environ, prefix)
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            pip[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    uv = {name.removeprefix("UV_"): value for name, value in environ.items() if name.startswith("UV_") and value}
    main = pip.get("index-url") or uv.get("DEFAULT_INDEX") or uv.get("INDEX_URL")
    extra = [pip.get("extra-index-url", ""), uv.get("INDEX", ""), uv.get("EXTRA_INDEX_URL", "")]
    # An index of uv may have a name: `name=https://...`.
    urls = [re.sub(r"^[\w.-]+=", "", url) for url in (main or PYPI, *" ".join(extra).split())]
    links = pip.get("find-links", "").split()
    paths = [unquote(urlsplit(link).path) if link.startswith("file:") else link for link in links]
    offline = pip.get("no-index", "").lower() not in _FALSE
    return IndexConfig(
        indexes=() if offline else tuple(dict.fromkeys(urls)),
        folders=tuple(filter(Path.is_dir, (Path(path).expanduser() for path in paths))),
        ca_file=pip.get("cert") or environ.get("REQUESTS_CA_BUNDLE"),
    )


def _pip_options(environ: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the options of `pip download` in the files `pip.conf`; later files take precedence."""
    home = Path(environ.get("HOME") or "~").expanduser()
    config_file = environ.get("PIP_CONFIG_FILE")
    if config_file == os.devnull:
        return {}
    paths = [
        *(Path(folder, "pip/pip.conf") for folder in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")),
        Path("/Library/Application Support/pip/pip.conf"),
        Path("/etc/pip.conf"),
        home / ".pip/pip.conf",
        home / "Library/Application Support/pip/pip.conf",
        Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "pip/pip.conf"),
        Path(prefix, "pip.conf"),
        *([Path(config_file)] if config_file else []),
    ]
    options: dict[str, str] = {}
    for path in paths:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, OSError, UnicodeError):
            continue
        for section in ("global", "download"):
            if parser.has_section(section):
                options |= {name.replace("_", "-"): value for name, value in parser.items(section)}
    return options


def http_client(config: IndexConfig) -> "httpx.Client":
    """Return a client that trusts the certificate authorities of the system, of certifi and of `config`.

    Raises:
        OSError: the file or folder of certificate authorities cannot be read.
    """
    import certifi
    import httpx

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    if config.ca_file:
        kind = "capath" if os.path.isdir(config.ca_file) else "cafile"
        try:
            context.load_verify_locations(**{kind: config.ca_file})
        except OSError as error:
            raise OSError(f"the certificate authorities in {config.ca_file} cannot be read: {error}") from error
    timeout = httpx.Timeout(_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S)
    return httpx.Client(follow_redirects=True, timeout=timeout, verify=context)


def file_url(client: "httpx.Client", index: str, package: str, file_name: str) -> str | None:
    """Return the URL of a file of `package` in `index`; None if the index does not offer it.

    Raises:
        httpx.HTTPError, httpx.InvalidURL: the index cannot be read.
        ValueError: the index returns something else than a list of files.
    """
    page = client.get(f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', package).lower()}/", headers={"Accept": _ACCEPT})
    if page.status_code == 404:
        return None
    page.raise_for_status()
    if page.headers.get("content-type", "").partition(";")[0].endswith("json"):
        try:
            links = [str(file["url"]) for file in page.json()["files"]]
        except (TypeError, KeyError) as error:
            raise ValueError("not a list of files") from error
    else:
        links = _html_links(page.text)
    link = next((link for link in links if unquote(urlsplit(link).path).rpartition("/")[2] == file_name), None)
    if link is None:
        return None
    url = urldefrag(urljoin(str(page.url), link)).url
    return _with_credentials(url, index)


def _html_links(text: str) -> list[str]:
    links: list[str] = []

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            links.extend(value for name, value in attrs if tag == "a" and name == "href" and value)

    Links().feed(text)
    return links


def _with_credentials(url: str, index: str) -> str:
    """Return `url` with the user and password of `index`, if both are on the same host."""
    file, index_url = urlsplit(url), urlsplit(index)
    user, mark, host = index_url.netloc.rpartition("@")
    is_same = mark and "@" not in file.netloc and (file.scheme, file.netloc) == (index_url.scheme, host)
    return file._replace(netloc=f"{user}@{host}").geturl() if is_same else url


def download(client: "httpx.Client", url: str, path: Path, report: Callable[[int], None]) -> None:
    """Append the rest of the file at `url` to `path`, which may hold its beginning.

    A lost connection is opened again, and the download is resumed if the server supports ranges.
    `report` receives the size of `path`.

    Raises:
        httpx.HTTPError, httpx.InvalidURL: the file cannot be downloaded.
    """
    import httpx

    for attempt in range(_ATTEMPTS):
        size = path.stat().st_size if path.exists() else 0
        try:
            _append(client, url, path, size, report)
            return
        except httpx.TransportError:
            # Another attempt is useful only if this one received something.
            if attempt + 1 == _ATTEMPTS or not path.exists() or path.stat().st_size <= size:
                raise


def _append(client: "httpx.Client", url: str, path: Path, size: int, report: Callable[[int], None]) -> None:
    # With a content encoding, the positions of a range would not be those of the file.
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={size}-"} if size else {})}
    with client.stream("GET", url, headers=headers) as response:
        if size and response.status_code == 416:
            # Nothing is left to send; the hash is checked later.
            return
        response.raise_for_status()
        is_rest = response.status_code == 206 and response.headers.get("content-range", "").startswith(f"bytes {size}-")
        position = size if is_rest else 0
        with path.open("ab" if is_rest else "wb") as file:
            for chunk in response.iter_raw():
                file.write(chunk)
                position += len(chunk)
                report(position)
