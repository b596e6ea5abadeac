"""A receiver of webhooks in a process of its own: `python -m bench.webhook_receiver CERTIFICATE PORT_FILE`.

Answers 200 at once; at /hang never, at /drip a byte a second. Each delivery is a line: its id, and when
it had come, in nanoseconds of the machine's clock.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import time
from pathlib import Path

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
LONG_SECONDS = 60


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One delivery."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        await reader.readexactly(int(fields["Content-Length"]))
        path = head.split(" ")[1]
        if path == "/hang":
            await asyncio.sleep(LONG_SECONDS)
        elif path == "/drip":
            for byte in OK:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(1)
        else:
            print(fields["webhook-id"], time.time_ns(), flush=True)
            writer.write(OK)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass  # the relay has hung up
    finally:
        writer.close()


async def serve(listener: socket.socket, context: ssl.SSLContext) -> None:
    """Until killed."""
    server = await asyncio.start_server(answer, sock=listener, ssl=context)
    await server.serve_forever()


def main(certificate: str, port_file: str) -> None:
    """The port is written to the file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        Path(port_file).write_text(str(listener.getsockname()[1]))
        asyncio.run(serve(listener, context))


if __name__ == "__main__":
    main(*sys.argv[1:])
