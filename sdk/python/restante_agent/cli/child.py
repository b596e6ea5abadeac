"""A command as handler: the event on stdin, the outcome in the exit code.

0 acks, with stdout as the result if it is a JSON object; 75 (EX_TEMPFAIL) releases with a delay;
anything else releases with an error: code ``exit_N`` or ``signal_N``, message the end of stderr.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from threading import Thread, Timer
from typing import IO

from restante_agent import jsontext
from restante_agent.cli.command_line import end_with_parent
from restante_agent.model.settle import Ack, FailureOutcome, Release
from restante_agent.runtime.delivery import Delivery
from restante_agent.runtime.outcome import Verb, failed
from restante_agent.untrusted import render_untrusted

log = logging.getLogger("restante_agent")

TEMPFAIL = 75
KILL_AFTER_SECONDS = 5.0
STDOUT_KEPT_BYTES = 64 * 1024
STDERR_KEPT_LINES = 20
# What a grandchild that keeps the pipes open may delay the settle by.
PIPES_SECONDS = 1.0


class CommandHandler:
    """Runs `argv` once for each event, in a process group of its own.

    `environ` is what the child inherits; the RESTANTE_ names of the event are added to it. `fenced`:
    its stdin is the event as untrusted data for a model, and not JSON.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environ: Mapping[str, str],
        delay_seconds: float,
        timeout_seconds: float | None = None,
        echo: IO[bytes] | None = None,
        fenced: bool = False,
    ) -> None:
        self._argv, self._environ = list(argv), dict(environ)
        self._delay_seconds, self._timeout_seconds = delay_seconds, timeout_seconds
        self._echo = echo
        self._fenced = fenced

    def __call__(self, delivery: Delivery) -> Verb:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command
                self._argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environ | environment_of(delivery),
                start_new_session=True,  # Ctrl-C is for the listener, which ends its work in order
                preexec_fn=end_with_parent(),  # noqa: PLW1509 - calls one prepared C function
            )
        except OSError as error:
            # the command's fault, not the event's: the attempt is given back
            log.warning("exec program=%s error=%s", self._argv[0], error.strerror)
            return Release(delay_seconds=self._delay_seconds)
        child = Child(process, echo=self._echo)
        event = delivery.event
        text = render_untrusted(event).encode() if self._fenced else jsontext.dumps(event.raw)
        child.feed(text + b"\n")
        delivery.on_stop(lambda _: child.end())
        timed_out = not child.wait(self._timeout_seconds)
        return self._outcome(delivery, child, timed_out=timed_out)

    def _outcome(self, delivery: Delivery, child: Child, *, timed_out: bool) -> Verb:
        code = child.code
        if timed_out:
            message = f"no end within {self._timeout_seconds:g} s\n{child.stderr_end()}"
            return Release(error=failed("timeout", message, FailureOutcome.UNKNOWN))
        if code == 0:
            return Ack(child.result())
        delivery.raise_if_stopped()
        if code == TEMPFAIL:
            return Release(delay_seconds=self._delay_seconds)
        name = f"signal_{-code}" if code < 0 else f"exit_{code}"
        return Release(error=failed(name, child.stderr_end() or _reason(code)))


class Child:
    """One running command; its output is read while it runs, bounded."""

    def __init__(self, process: subprocess.Popen[bytes], *, echo: IO[bytes] | None) -> None:
        self._process, self._echo = process, echo
        self._stdout = bytearray()
        self._stderr: deque[bytes] = deque(maxlen=STDERR_KEPT_LINES)
        self._killer: Timer | None = None
        self._readers = [
            Thread(target=self._read_stdout, daemon=True),
            Thread(target=self._read_stderr, daemon=True),
        ]
        for thread in self._readers:
            thread.start()

    @property
    def code(self) -> int:
        return self._process.returncode

    def feed(self, text: bytes) -> None:
        """Write stdin in a thread: a child may answer before it has read all, or never read."""

        def write() -> None:
            with contextlib.suppress(BrokenPipeError), _piped(self._process.stdin) as stdin:
                stdin.write(text)

        Thread(target=write, daemon=True).start()

    def wait(self, timeout_seconds: float | None) -> bool:
        """Wait for the end; False when it had to be ended for taking too long."""
        try:
            self._process.wait(timeout_seconds)
            in_time = True
        except subprocess.TimeoutExpired:
            self.end()
            self._process.wait()
            in_time = False
        if self._killer is not None:
            self._killer.cancel()
        for thread in self._readers:
            thread.join(PIPES_SECONDS)
        return in_time

    def end(self) -> None:
        """SIGTERM to the whole group, SIGKILL a little later."""
        self._signal(signal.SIGTERM)
        self._killer = Timer(KILL_AFTER_SECONDS, self._signal, (signal.SIGKILL,))
        self._killer.daemon = True
        self._killer.start()

    def result(self) -> Mapping[str, object] | None:
        """Stdout, if it is one JSON object."""
        try:
            value = jsontext.loads(bytes(self._stdout))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def stderr_end(self) -> str:
        return b"".join(self._stderr).decode(errors="replace").strip()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _read_stdout(self) -> None:
        pipe = _piped(self._process.stdout)
        while chunk := os.read(pipe.fileno(), 65_536):
            if len(self._stdout) <= STDOUT_KEPT_BYTES:
                self._stdout += chunk

    def _read_stderr(self) -> None:
        pipe = _piped(self._process.stderr)
        while line := pipe.readline(8192):
            self._stderr.append(line)
            if self._echo is not None:
                self._echo.write(line)
                self._echo.flush()


def _piped(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the command was started without its pipes")
    return pipe


def environment_of(delivery: Delivery) -> dict[str, str]:
    """The event's facts for the child; a value that is null, or no environment can hold, is left out."""
    event = delivery.event
    facts: dict[str, object | None] = {
        "RESTANTE_EVENT_ID": event.event_id,
        "RESTANTE_EVENT_TYPE": event.type,
        "RESTANTE_PROJECT": event.project,
        "RESTANTE_SEQUENCE_NUMBER": event.sequence_number,
        "RESTANTE_CLAIM_GENERATION": event.claim_generation,
        "RESTANTE_FENCE": event.fence,
        "RESTANTE_LEASE_REMAINING_MS": delivery.lease_remaining_ms,
        "RESTANTE_ATTEMPT": event.attempts,
        "RESTANTE_ORDERING_KEY": event.ordering_key,
        "RESTANTE_ORDERING_SEQUENCE": event.ordering_sequence,
        "RESTANTE_CORRELATION_ID": event.correlation_id,
        "RESTANTE_REPLY_TO": event.reply_to,
        "RESTANTE_TRACEPARENT": delivery.traceparent,
    }
    return {
        name: str(value)
        for name, value in facts.items()
        if value is not None and "\0" not in str(value)
    }


def _reason(code: int) -> str:
    if code < 0:
        try:
            return f"ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"ended by signal {-code}"
    return f"exit status {code}, nothing on stderr"
