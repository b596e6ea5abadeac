"""SQS as moto serves it, by boto3 over HTTP. It keeps everything in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import boto3

from bench.peers.peer import House, Peer, Serial, started
from bench.sides import Client
from tests.support.ports import free_port
from tests.support.processes import Process

MOST = 10
"""Messages that a call of SQS takes."""


class MotoSQS(Peer):
    """send_message_batch, receive_message, delete_message_batch; moto's own server."""

    name = "moto-sqs"
    libraries = ("boto3", "moto")
    publishes = claims = MOST
    durable = False
    said = "in memory, moto's threaded server"

    def __init__(self, house: House) -> None:
        self.port, self.serial = free_port(), Serial()
        argv = [house.python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self.process = Process(argv, log=house.folder / "moto.log")
        started(self.process, self.port, stop=self.process.kill, closing=house.closing)
        self._urls: list[str] = []

    def opener(self, clients: int) -> Callable[[int], Client]:
        outside = self._connect()
        for url in self._urls:
            outside.delete_queue(QueueUrl=url)
        kept = {"VisibilityTimeout": "60"}
        self._urls = [
            outside.create_queue(QueueName=name, Attributes=kept)["QueueUrl"]
            for name in self.serial.names(clients)
        ]
        fresh, urls = self._connect(), self._urls  # made once, for it takes long; it opens later
        return lambda number: SQSClient(fresh, urls[number])

    def processes(self) -> list[int]:
        return [self.process.pid]

    def _connect(self) -> Any:
        return boto3.session.Session().client(
            "sqs",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            region_name="us-east-1",
            aws_access_key_id="bench",
            aws_secret_access_key="bench",  # noqa: S106 - moto asks for one and takes any
        )


class SQSClient:
    def __init__(self, server: Any, url: str) -> None:
        self.server, self.url = server, url

    def publish(self, bodies: Sequence[bytes]) -> None:
        for first in range(0, len(bodies), MOST):
            entries = [
                {"Id": str(number), "MessageBody": body.decode()}
                for number, body in enumerate(bodies[first : first + MOST])
            ]
            answer = self.server.send_message_batch(QueueUrl=self.url, Entries=entries)
            if len(answer["Successful"]) != len(entries):
                raise RuntimeError("not every message was taken")

    def claim(self, limit: int) -> Sequence[Any]:
        answer = self.server.receive_message(QueueUrl=self.url, MaxNumberOfMessages=limit)
        messages: Sequence[Any] = answer.get("Messages", ())
        return messages

    def ack(self, claimed: Sequence[Any]) -> None:
        entries = [
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
            for number, message in enumerate(claimed)
        ]
        answer = self.server.delete_message_batch(QueueUrl=self.url, Entries=entries)
        if len(answer["Successful"]) != len(entries):
            raise RuntimeError("an ack was not taken")

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [message["Body"].encode() for message in claimed]

    def close(self) -> None:
        self.server.close()
