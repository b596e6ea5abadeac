"""What is under /api/v1 for many agents at once."""

from __future__ import annotations

from flask import Blueprint

coordination = Blueprint("coordination", __name__, url_prefix="/api/v1")
