"""The version of this distribution, read by the build and sent as User-Agent."""

from __future__ import annotations

__version__ = "0.1.0"
