"""A process that goes by a kept login: `python -m tests.oauth.login_process URL AGENT FOLDER HOW`.

Each line on stdin is a time, to which its clocks are set; it calls, and answers with a line. HOW: `share`
what another process has got, refresh at every call (`fresh`), or be killed as soon as the server's
answer is there and before it is kept (`killed`).
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from restante_agent import Client, RestanteError
from restante_agent.login.kept import KeptLogin
from restante_agent.wire.call import Call
from restante_agent.wire.step import Answer, Request


def status(answer: Answer) -> int:
    return answer.status


WHOAMI = Call(Request(method="GET", path="/whoami"), status)


class Killed(KeptLogin):
    """Its second write is the new token."""

    writes = 0

    def write(self, kept: Any) -> None:
        self.writes += 1
        if self.writes == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        super().write(kept)


def main(url: str, agent_id: str, folder: str, how: str) -> None:
    now = [0.0]
    kind = Killed if how == "killed" else KeptLogin
    login = kind(url, agent_id, base=Path(folder))
    with Client(url, login=login, monotonic=lambda: now[0], wall=lambda: now[0]) as client:
        _say("ready")
        for line in sys.stdin:
            now[0] = float(line)
            try:
                if how == "fresh":
                    client._drive(client.core.obtain(None, fresh=True))
                answer = str(client.perform(WHOAMI))
            except RestanteError as error:
                answer = f"{type(error).__name__}: {error}"
            _say(answer)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
