"""`restante-agent webhook-serve`: what came, a line each; what it answers; what it says when it cannot."""

from __future__ import annotations

import json
import os
import ssl
import stat
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme
from click.testing import CliRunner
from joserfc.jwk import OKPKey

from restante.egress.url import parse_url
from restante.webhooks.challenge import new_challenge
from restante.webhooks.secrets import response_to
from restante.webhooks.signing import Signer, signed_fields
from restante_agent.cli.main import main
from restante_agent.cli.webhook_serve import first_keys
from restante_agent.errors import UnexpectedAnswer, Unreachable
from tests.support.processes import Process
from tests.support.waiting import wait_until

KEY = OKPKey.generate_key("Ed25519")
BODY = b'{"event_id":"evt_1","type":"greeting","project":"main","payload":{"text":"\\u001b[31m"}}'
ORIGIN = "https://hooks.example.com"


def post(url: str, body: bytes, fields: dict[str, str], trust: ssl.SSLContext | None = None) -> Any:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, body, fields), timeout=20, context=trust
        ) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def signed(secret: str, path: str, body: bytes = BODY) -> dict[str, str]:
    now = datetime.now(UTC).replace(tzinfo=None)
    signer = Signer("kid-1", KEY, [secret])
    return signed_fields(parse_url(ORIGIN + path), body, message_id="evt_1", signer=signer, now=now)


@pytest.fixture
def keys_at() -> Iterator[str]:
    """A server that has the key set where Restante has it, and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/oauth/jwks.json" else 404)
            self.end_headers()
            jwk = {**KEY.as_dict(private=False), "kid": "kid-1"}
            self.wfile.write(json.dumps({"keys": [jwk]}).encode())

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def started(log: Path, *words: str) -> tuple[Process, str]:
    """The receiver, and the URL that it says in its first line."""
    command = [sys.executable, "-m", "restante_agent", "webhook-serve", *words]
    env = {name: value for name, value in os.environ.items() if not name.startswith("RESTANTE_")}
    process = Process(command, log=log, env=env)
    wait_until(lambda: "istening" in process.tail() or not process.is_running(), "it to listen")
    said = process.tail()
    assert "istening" in said, said
    return process, said[said.index("http") :].split('"')[0].split(". ")[0]


def test_a_line_for_each_request(tmp_path: Path) -> None:
    kept, authority = tmp_path / "hook.secret", trustme.CA()
    files = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate = authority.issue_cert("127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(str(files[0]))
    certificate.private_key_pem.write_to_path(str(files[1]))
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    words = (
        "--secret-file",
        str(kept),
        "--port",
        "0",
        "--origin",
        ORIGIN,
        "--count",
        "2",
        "--json",
    )
    words += ("--cert", str(files[0]), "--key", str(files[1]))
    process, url = started(tmp_path / "log", *words)
    secret = kept.read_text().strip()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with pytest.raises(urllib.error.URLError, match="certificate"):
        post(url, b"{}", {})
    one = new_challenge(bytes(16), url=url, secret=secret, now=datetime(2031, 5, 1))
    status, answer = post(f"{url}/hook", one.body, {}, trust)
    assert (status, json.loads(answer)) == (
        200,
        {"challenge_response": response_to(secret, one.token)},
    )
    sent = signed(secret, "/hook?a=b")
    assert post(f"{url}/hook?a=b", BODY, sent, trust) == (204, b"")
    assert post(f"{url}/hook?a=b", BODY, sent, trust)[0] == 401
    assert post(f"{url}/hook", b"", {"Content-Length": "99999999"}, trust)[0] == 413
    assert post(f"{url}/", BODY + b" ", signed(secret, "/", BODY + b" "), trust)[0] == 204
    assert process.popen.wait(20) == 0
    lines = [json.loads(line) for line in process.tail().splitlines() if line.startswith("{")]
    kinds = ["listening", "failed", "challenge", "delivery", "refused", "refused", "delivery"]
    assert [line["kind"] for line in lines] == kinds
    assert lines[3]["body"] == json.loads(BODY)
    assert (lines[3]["webhook_id"], lines[3]["url"]) == ("evt_1", f"{ORIGIN}/hook?a=b")
    assert lines[4]["why"] == "it was here before"
    assert secret not in process.tail()


def test_the_keys_of_the_server_and_lines_for_a_person(tmp_path: Path, keys_at: str) -> None:
    kept = tmp_path / "hook.secret"
    kept.write_text("a secret of more than thirty-two bytes\n")
    words = ("--secret-file", str(kept), "--port", "0", "--origin", ORIGIN, "--url", keys_at)
    process, url = started(tmp_path / "log", *words, "--count", "1", "--status", "202")
    secret = kept.read_text().strip()
    assert post(f"{url}/hook", BODY, signed(secret, "/other"))[0] == 401
    assert post(f"{url}/hook", BODY, signed(secret, "/hook"))[0] == 202
    assert process.popen.wait(20) == 0
    said = process.tail()
    assert "refused 401  the signature is not right for POST https://hooks.example.com/hook" in said
    assert 'delivery 202  evt_1  greeting  main  {"text":"' in said
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("words", "code", "remedy"),
    [
        (["--secret-file", "{empty}"], 2, "remove it, and a secret is made"),
        (["--secret-file", "{folder}/no/where"], 2, "--secret-file: "),
        (["--secret-file", "{bad}"], 2, "what follows is no base64"),
        (["--secret-file", "{good}", "--cert", "x"], 2, "--cert and --key go together"),
        (["--secret-file", "{good}", "--cert", "x", "--key", "x"], 2, "--cert, --key: "),
        (["--secret-file", "{good}", "--origin", "hooks"], 2, "'hooks' is no base URL"),
        (["--secret-file", "{good}", "--host", "192.0.2.1"], 2, "--port gives another"),
        (
            ["--secret-file", "{good}", "--url", "http://127.0.0.1:1", "--give-up", "0"],
            6,
            "cannot be had",
        ),
        ([], 2, "Missing option '--secret-file'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, words: list[str], code: int, remedy: str) -> None:
    for name, text in (("empty", ""), ("bad", "whsec_?"), ("good", "x" * 32)):
        (tmp_path / name).write_text(text)
    files = {name: tmp_path / name for name in ("empty", "bad", "good")}
    given = [word.format(folder=tmp_path, **files) for word in words]
    done = CliRunner().invoke(main, ["webhook-serve", *given], env={"RESTANTE_URL": None})
    assert done.exit_code == code
    assert remedy in done.stderr


class Later:
    """Keys of a server that answers from its `after`th call on; its clock goes on while one waits."""

    def __init__(self, after: int) -> None:
        self.after, self.calls, self.now = after, 0, 0.0

    def __call__(self) -> dict[str, Any]:
        self.calls += 1
        if self.calls < self.after:
            raise Unreachable("the keys of http://x cannot be had: refused")
        return {"keys": []}

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def first(self, give_up_seconds: float) -> None:
        first_keys(self, give_up_seconds, sleep=self.sleep, monotonic=lambda: self.now)


def test_a_server_that_is_not_up_yet_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    keys = Later(after=5)
    keys.first(60)
    assert keys.calls == 5
    said = capsys.readouterr().err
    assert said == (
        "the keys of http://x cannot be had: refused; asking again, with growing pauses, for 60 s\n"
    )


def test_it_is_not_waited_for_for_ever() -> None:
    keys = Later(after=10_000)
    with pytest.raises(Unreachable):
        keys.first(60)
    assert 50 < keys.now <= 60
    keys = Later(after=2)
    with pytest.raises(Unreachable):
        keys.first(0)
    assert keys.calls == 1


def test_what_waiting_does_not_mend_is_said_at_once() -> None:
    def wrong() -> dict[str, Any]:
        raise UnexpectedAnswer("http://x/oauth/jwks.json is no key set")

    with pytest.raises(UnexpectedAnswer):
        first_keys(wrong, 60, sleep=lambda _: pytest.fail("it waits"))
