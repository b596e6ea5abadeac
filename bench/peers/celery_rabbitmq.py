"""Celery on a private RabbitMQ: `apply_async` with confirms, and a worker that acks late.

The worker is Celery's own, one in each client's process (its solo pool, without children), so a task's
way is the shortest that Celery has. An AMQP ack is not answered: none can be found refused.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import amqp
from celery import Celery
from celery.contrib.testing.worker import start_worker

from bench.peers.peer import START_SECONDS, House, Peer, Serial, started
from bench.sides import Client
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.unavailable import Unavailable
from tests.support.waiting import wait_until

SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""The one on PATH would change the user first."""
DRY_SECONDS = 3.0
_RUNNING: list[Any] = []
"""A client's worker: it ends with the process."""
SETTINGS = {
    "broker_transport_options": {"confirm_publish": True},
    "task_acks_late": True,
    "task_default_delivery_mode": "persistent",
    "task_ignore_result": True,
    "broker_pool_limit": 1,
    "worker_hijack_root_logger": False,
}


class CeleryRabbitMQ(Peer):
    """A durable queue for each client, persistent messages; a task goes by itself, there are no batches."""

    name = "celery"
    libraries = ("celery", "kombu", "amqp")
    publishes = claims = 1
    remark = "RabbitMQ answers no ack and syncs none: what was acked may come again after a crash"

    def __init__(self, house: House) -> None:
        self.port, self.serial = free_port(), Serial()
        self._names: list[str] = []
        self.process = _rabbitmq(house, self.port)
        wait_until(self._answers, "RabbitMQ", timeout_seconds=START_SECONDS)
        connection = _connect(self.port)
        told = connection.server_properties
        connection.close()
        self.said = (
            f"RabbitMQ {told['version']}, durable queues, persistent, confirm_publish, acks_late"
        )

    def opener(self, clients: int) -> Callable[[int], Client]:
        port, old = self.port, self._names
        names = self._names = self.serial.names(clients)
        connection = _connect(port)
        with connection.channel() as channel:
            for name in old:
                channel.queue_delete(name)
            for name in names:  # the server refuses a queue that is there and not durable
                channel.queue_declare(name, durable=True, auto_delete=False)
        connection.close()
        return lambda number: CeleryClient(port, names[number])

    def processes(self) -> list[int]:
        return [self.process.pid]

    def _answers(self) -> bool:
        if not self.process.is_running():
            raise Unavailable(f"RabbitMQ ended at once: {self.process.tail(4)}")
        try:
            _connect(self.port).close()
        except (OSError, amqp.exceptions.AMQPError):
            return False
        return True


class CeleryClient:
    """The worker's task hands over what it got and waits until it is asked for the next."""

    def __init__(self, port: int, name: str) -> None:
        self.app = Celery(broker=f"amqp://guest:guest@127.0.0.1:{port}//")
        self.app.conf.update(SETTINGS)
        self.done: queue.Queue[str] = queue.Queue(maxsize=1)

        def hand_over(text: str) -> None:  # a function: of a method the task would take `self`
            self.done.put(text)

        self.task = self.app.task(name="bench")(hand_over)
        self.name, self.publishing = name, ExitStack()
        self.producer = self.publishing.enter_context(self.app.producer_or_acquire())
        worker = start_worker(self.app, queues=[self.name], perform_ping_check=False)
        worker.__enter__()
        _RUNNING.append(worker)

    def publish(self, bodies: Sequence[bytes]) -> None:
        for body in bodies:
            self.task.apply_async((body.decode(),), queue=self.name, producer=self.producer)

    def claim(self, limit: int) -> Sequence[Any]:
        try:
            return [self.done.get(timeout=DRY_SECONDS)]
        except queue.Empty:
            return []

    def ack(self, claimed: Sequence[Any]) -> None:
        """The worker's doing, when its task has returned."""

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [text.encode() for text in claimed]

    def close(self) -> None:
        self.publishing.close()


def _connect(port: int) -> amqp.Connection:
    connection = amqp.Connection(f"127.0.0.1:{port}", connect_timeout=5)
    connection.connect()
    return connection


def _rabbitmq(house: House, port: int) -> Process:
    if not SCRIPT.exists():
        raise Unavailable("RabbitMQ is not installed (apt-get install rabbitmq-server)")
    folder, names = house.place("rabbitmq"), free_port()
    epmd = Process(["epmd", "-address", "127.0.0.1", "-port", str(names)], log=folder / "epmd.log")
    started(epmd, names, stop=epmd.kill, closing=house.closing)
    (folder / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{port}\nlog.file.level = warning\n"
    )
    (folder / "plugins").write_text("[].\n")
    settings = {
        "HOME": folder,
        "RUNNING_UNDER_SYSTEMD": "1",  # the script becomes the server: one process
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": names,
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_CONFIG_FILE": folder / "rabbitmq.conf",
        "RABBITMQ_DIST_PORT": free_port(),
        "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "plugins",
        "RABBITMQ_LOG_BASE": folder / "logs",
        "RABBITMQ_MNESIA_BASE": folder / "data",
        "RABBITMQ_NODENAME": f"bench{port}@localhost",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }
    env = {**os.environ, **{name: str(value) for name, value in settings.items()}}
    process = Process([SCRIPT], log=folder / "rabbitmq.log", env=env, cwd=folder)
    return started(process, port, stop=process.kill_group, closing=house.closing)
