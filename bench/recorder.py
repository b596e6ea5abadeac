"""The application in this process, whose statements are written down for raw PyMySQL to send.

What it sends from its first statement on goes to a second database too, so that each call finds
there what it found here: the same rows under the same ids.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import make_url

from bench import crew, raw
from restante.storage.engine import make_engine
from restante.storage.tables import metadata
from tests.http import hot_calls
from tests.http.hot_calls import Answer, Desk, Request
from tests.http.world import World, open_world
from tests.support.servers import Server

AUTHORITY = "127.0.0.1:5000"


class Recorder:
    """`desks`: one for each client, in the application; what they do is done on `floor` by `catch_up`."""

    def __init__(self, server: Server, clients: int, closing: ExitStack) -> None:
        url, floor = (server.create_database(f"bench_calls_{name}") for name in ("app", "floor"))
        for one in (url, floor):
            engine = make_engine(one, slots=1)
            metadata.create_all(engine)
            engine.dispose()
        self.floor = make_url(floor)
        self._connection = raw.connect(self.floor.host, self.floor.port, self.floor.database)
        closing.callback(self._connection.close)
        self._heard: list[str | None] = []
        self.world = self._opened(url, closing)
        enrolled = self.world.house.database.run(lambda s: hot_calls.enrol(s, clients))
        self.desks = [Desk(self._carry, who, authority=AUTHORITY) for who in enrolled]
        self.catch_up()

    def _opened(self, url: str, closing: ExitStack) -> World:
        opening = open_world(url, {"public_url": f"http://{AUTHORITY}"})
        world = closing.enter_context(opening)
        engine = world.house.database.engine
        # the tenant that a world comes with is not on the floor, and none of the calls meets it
        event.listen(engine, "before_cursor_execute", self._hear)
        event.listen(engine, "commit", lambda _: self._heard.append(crew.COMMIT))
        event.listen(engine, "rollback", lambda _: self._heard.append("ROLLBACK"))
        return world

    def _hear(
        self,
        connection: Any,
        cursor: Any,
        statement: str,
        parameters: Any,
        context: Any,
        many: bool,  # noqa: FBT001 - SQLAlchemy calls it
    ) -> None:
        if cursor is None:  # a hot one: its text is whole
            self._heard.append(statement)
        else:
            rows = parameters if many else [parameters]
            self._heard += [cursor.mogrify(statement, row) for row in rows]

    def _carry(self, request: Request) -> Answer:
        answer = self.world.app.test_client().open(
            request.path,
            method=request.method,
            data=request.body,
            headers=dict(request.headers),
            base_url=f"http://{AUTHORITY}",
        )
        return Answer(answer.status_code, answer.data)

    def catch_up(self) -> None:
        """Have the floor be where the application is."""
        crew.replay(self._connection, self.taken())

    def taken(self) -> list[str | None]:
        """What was sent since it was last asked for."""
        heard, self._heard = self._heard, []
        return heard
