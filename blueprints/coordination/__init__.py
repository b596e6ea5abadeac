"""What agents do together (contract 6.2)."""

from blueprints.coordination import assignments, posts, rooms
from blueprints.coordination.blueprint import coordination

__all__ = ["assignments", "coordination", "posts", "rooms"]
