"""The proxies of deploy/proxies, run as they are but for addresses, files and how long a reload waits."""

from __future__ import annotations

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import trustme

from tests.support import debian
from tests.support.ports import free_port, is_free
from tests.support.processes import Process
from tests.support.waiting import wait_until

SAMPLES = Path(__file__).resolve().parents[2] / "deploy" / "proxies"
LAST_SECONDS = 2


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    """The text with each of these changed; all must be there."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


class Proxy(ABC):
    """One that runs; `url` is what it serves, `upstream` the host and port behind it."""

    sample: str
    program: Callable[[], list[str]]

    def __init__(
        self, folder: Path, certificate: trustme.LeafCert, upstream: str, port: int
    ) -> None:
        self.folder, self.port, self.plain_port = folder, port, free_port()
        self.url = f"https://localhost:{self.port}"
        folder.mkdir()
        certificate.private_key_and_cert_chain_pem.write_to_path(str(folder / "cert.pem"))
        text = (SAMPLES / self.sample).read_text()
        self.file = folder / self.sample
        self.file.write_text(self.adapted(replaced(text, ("127.0.0.1:8000", upstream))))
        self.processes = [self.begin()]
        wait_until(self._listens, f"{self.sample} on port {self.port}")

    @abstractmethod
    def adapted(self, text: str) -> str:
        """The sample for this machine."""

    @abstractmethod
    def command(self) -> list[str]:
        """What runs it in the foreground."""

    @abstractmethod
    def reload(self) -> None:
        """Have it read its file anew, which says of itself that it is the second.

        What is open goes on for `LAST_SECONDS`.
        """

    def begin(self, *more: str) -> Process:
        """Start one."""
        return Process([*self.command(), *more], log=self.folder / "log", cwd=self.folder)

    def stop(self) -> None:
        """End all that was started."""
        for process in self.processes:
            process.kill_group()

    def _listens(self) -> bool:
        assert self.processes[0].is_running(), self.processes[0].tail()
        return not is_free(self.port)


class Nginx(Proxy):
    sample = "nginx.conf"
    program = staticmethod(debian.nginx)

    def adapted(self, text: str) -> str:
        user = "" if os.geteuid() else "user root;\n"
        folders = "".join(
            f"    {kind}_temp_path {self.folder}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        certificate = str(self.folder / "cert.pem")
        return user + replaced(
            text,
            ("worker_processes auto;", f"worker_processes 1;\npid {self.folder}/pid;"),
            ("worker_shutdown_timeout 60s;", f"worker_shutdown_timeout {LAST_SECONDS}s;"),
            ("worker_rlimit_nofile 65536;", ""),
            ("worker_connections 32768;", "worker_connections 512;"),
            ("http {\n", "http {\n" + folders),
            ("/var/log/nginx/access.log", str(self.folder / "access.log")),
            ("/etc/ssl/restante/fullchain.pem", certificate),
            ("/etc/ssl/restante/key.pem", certificate),
            ("listen 80;", f"listen 127.0.0.1:{self.plain_port};"),
            ("listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;"),
            ("restante.example.com", "localhost"),
        )

    def command(self) -> list[str]:
        options = [
            "-p",
            str(self.folder),
            "-e",
            "stderr",
            "-c",
            str(self.file),
            "-g",
            "daemon off;",
        ]
        return [*self.program(), *options]

    def reload(self) -> None:
        text = self.file.read_text()
        field = "        gzip off; add_header X-Generation 2 always;"
        self.file.write_text(replaced(text, ("        gzip off;", field)))
        self.processes[0].signal(signal.SIGHUP)


class HAProxy(Proxy):
    sample = "haproxy.cfg"
    program = staticmethod(debian.haproxy)

    def adapted(self, text: str) -> str:
        return replaced(
            text,
            ("maxconn 32768", "maxconn 512"),
            ("hard-stop-after 60s", f"hard-stop-after {LAST_SECONDS}s"),
            ("bind :80", f"bind 127.0.0.1:{self.plain_port}"),
            ("bind :443 ssl", f"bind 127.0.0.1:{self.port} ssl"),
            ("/etc/ssl/restante/cert.pem", str(self.folder / "cert.pem")),
        )

    def command(self) -> list[str]:
        return [*self.program(), "-db", "-f", str(self.file)]

    def reload(self) -> None:
        text = self.file.read_text()
        field = "    http-response set-header X-Generation 2\n    default_backend"
        self.file.write_text(replaced(text, ("    default_backend", field)))
        # what the master does for `systemctl reload haproxy`: the new one takes the ports, the old one drains
        self.processes.append(self.begin("-sf", str(self.processes[-1].pid)))


class Caddy(Proxy):
    sample = "Caddyfile"
    program = staticmethod(debian.caddy)

    def adapted(self, text: str) -> str:
        certificate = self.folder / "cert.pem"
        return replaced(
            text,
            ("grace_period 60s", f"grace_period {LAST_SECONDS}s\n\tadmin off\n\tauto_https off"),
            (
                "\nrestante.example.com {\n",
                f"\nhttps://localhost:{self.port} {{\n\ttls {certificate} {certificate}\n",
            ),
        )

    def command(self) -> list[str]:
        return [*self.program(), "run", "--adapter", "caddyfile", "--config", str(self.file)]

    def reload(self) -> None:
        raise NotImplementedError
