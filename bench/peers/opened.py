"""Every row of the table, opened; what cannot be had here is told with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from bench.peers import environment
from bench.peers.own import SIDES, Own
from bench.peers.peer import House, Peer
from bench.throughput import Stage
from tests.support.servers import Server
from tests.support.unavailable import Unavailable

OTHERS = {
    "pgqueuer": ("job_queues", "PGQueuer"),
    "procrastinate": ("job_queues", "Procrastinate"),
    "pgmq": ("pgmq", "PGMQ"),
    "celery": ("celery_rabbitmq", "CeleryRabbitMQ"),
    "nats": ("jetstream", "JetStream"),
    "redis": ("redis_streams", "RedisStreams"),
    "beanstalkd": ("beanstalk", "Beanstalkd"),
    "moto-sqs": ("sqs", "MotoSQS"),
}
"""{name: module here, class}. A module imports its peer's library, so it is loaded late."""


def open_all(
    names: Sequence[str], running: Sequence[Server], folder: Path, closing: ExitStack
) -> tuple[list[Peer], dict[str, str]]:
    """The product's sides on each server and the peers named → (those, {name: why it is left out})."""
    peers: list[Peer] = []
    for server in running:
        stage = Stage(server, folder / f"{server.kind}-web", ("raw", "restante"))
        closing.callback(stage.close)
        peers += [Own(stage, side) for side in SIDES]
    try:
        house = House(folder, closing, environment.python(environment.ensure()))
    except Unavailable as error:
        return peers, dict.fromkeys(names, str(error))
    return peers, open_each({name: _maker(name, house) for name in names}, peers)


def open_each(makers: dict[str, Callable[[], Peer]], peers: list[Peer]) -> dict[str, str]:
    """Add those that open to `peers` → {name of each other: why}."""
    left_out: dict[str, str] = {}
    for name, make in makers.items():
        try:
            peers.append(make())
        except Exception as error:  # noqa: BLE001 - any of a dozen libraries'
            left_out[name] = " ".join(str(error).split()) or type(error).__name__
    return left_out


def _maker(name: str, house: House) -> Callable[[], Peer]:
    module, kind = OTHERS[name]

    def make() -> Peer:
        peer: Peer = getattr(import_module(f"bench.peers.{module}"), kind)(house)
        libraries = ", ".join(f"{library} {version(library)}" for library in peer.libraries)
        peer.said = f"{peer.said}; {libraries}"
        return peer

    return make
