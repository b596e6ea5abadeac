"""A session's browser in words; all that it says stays in the title."""

from __future__ import annotations

import pytest

from blueprints.console.user_agents import browser, browser_words

MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
LINUX = "Mozilla/5.0 (X11; Linux x86_64)"
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X)"
KIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
            "Firefox 143 on Linux",
        ),
        (f"{LINUX} {KIT} Chrome/141.0.0.0 Safari/537.36", "Chrome 141 on Linux"),
        (f"{WINDOWS} {KIT} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0", "Edge 141 on Windows"),
        (f"{WINDOWS} {KIT} Chrome/140.0.0.0 Safari/537.36 OPR/122.0.0.0", "Opera 122 on Windows"),
        (
            f"{MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
            "Safari 18 on macOS",
        ),
        (
            f"{IPHONE} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
            "Safari 18 on iPhone",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 10; K) {KIT} Chrome/141.0.0.0 Mobile Safari/537.36",
            "Chrome 141 on Android",
        ),
        ("curl/8.14.1", "curl/8.14.1"),
        ("x" * 500, "x" * 120 + "…"),
        ("a\u202eb", "a\\u202eb"),
        ("", "browser not told"),
        (None, "browser not told"),
    ],
)
def test_a_browser_is_told_in_words(said: str | None, words: str) -> None:
    assert browser_words(said) == words


def test_all_that_it_says_is_in_the_title_and_is_no_markup() -> None:
    said = f'{LINUX} {KIT} Chrome/141.0.0.0 "><b>'
    assert browser(said) == (
        f'<bdi title="{LINUX} {KIT} Chrome/141.0.0.0 &#34;&gt;&lt;b&gt;">Chrome 141 on Linux</bdi>'
    )
