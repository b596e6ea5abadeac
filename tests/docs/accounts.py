"""What becomes of each fenced block of the pages: a test runs it, a test reads it, or it is left, and why.

A row is (page, heading, languages, where). The heading `*` is every one of the page, as the language
`*` is every one; several languages stand with `|` between.
"""

from __future__ import annotations

TRANSCRIPT = "tests/docs/test_transcript.py:test_README_answers_are_what_its_commands_print"
QUICK = "tests/docs/test_quickstarts.py:test_agents_and_producers_do_as_their_pages_say"
TOGETHER = "tests/docs/test_together.py:test_four_agents_share_the_demo_tenants_work"
PAGES = "tests/acceptance/test_operators_pages.py"
SNIPPETS = "tests/docs/test_snippets.py"
SDK = "tests/sdk/test_readme.py:test_the_examples_of_the_readme_run"
SDK_JS = "tests/sdk_js/test_package.py:test_the_examples_of_the_readme_run"
WEBHOOKS = "tests/docs/test_webhooks_page.py"
VERIFIERS = "tests/acceptance/test_webhooks.py"
DEPLOY = "tests/docs/test_deploy.py"
COMMANDS = "tests/docs/test_commands.py"
START = "tests/docs/test_together.py:test_the_start_of_the_README_receives_the_first_event"

RUN = [
    ("README.md", "Start", "sh", START),
    ("README.md", "The first five minutes", "sh|json|text", TRANSCRIPT),
    ("README.md", "An agent without writing HTTP", "sh", TRANSCRIPT),
    (
        "README.md",
        "An agent without writing HTTP",
        "python",
        "tests/docs/test_transcript.py:test_README_python_is_python",
    ),
    ("docs/together.md", "*", "sh|text", TOGETHER),
    (
        "docs/administration.md",
        "*",
        "*",
        "tests/docs/test_transcript.py:test_administration_is_done_as_its_page_says",
    ),
    ("docs/agents.md", "Before you begin", "*", QUICK),
    ("docs/agents.md", "curl", "*", QUICK),
    ("docs/agents.md", "Python", "*", QUICK),
    ("docs/agents.md", "JavaScript", "*", QUICK),
    (
        "docs/agents.md",
        "MCP",
        "json",
        "tests/sdk/test_mcp.py:test_over_stdio_as_a_harness_starts_it",
    ),
    ("docs/producers.md", "*", "*", QUICK),
    ("docs/bridges.md", "CloudEvents", "*", TRANSCRIPT),
    ("docs/bridges.md", "A2A", "*", TRANSCRIPT),
    ("docs/memory.md", "A key", "*", TRANSCRIPT),
    ("docs/memory.md", "A turn", "python", f"{SNIPPETS}:test_the_turn_of_the_page_on_memory"),
    ("docs/rooms.md", "Two agents and a room", "*", TRANSCRIPT),
    ("docs/publishing.md", "In Python", "python", "tests/engine/test_publishing_page.py"),
    (
        "docs/publishing.md",
        "In any other language",
        "*",
        "tests/engine/test_plain_sql.py",
    ),
    (
        "docs/runbook.md",
        "*",
        "sh",
        "tests/docs/test_runbook.py:test_each_command_runs_at_an_installation",
    ),
    ("docs/tenants.md", "By a service", "sh", f"{PAGES}:test_settings_and_tenants"),
    ("docs/settings.md", "Calls to the outside", "sh", f"{PAGES}:test_settings_and_tenants"),
    (
        "docs/databases.md",
        "Databases",
        "sql",
        f"{PAGES}:test_a_database_is_made_and_moved_to",
    ),
    (
        "docs/databases.md",
        "From one database to another",
        "sh",
        f"{PAGES}:test_a_database_is_made_and_moved_to",
    ),
    (
        "docs/deploy.md",
        "On a machine",
        "ini",
        f"{DEPLOY}:test_settings_of_the_page_are_read_alike_by_a_shell_and_by_systemd",
    ),
    (
        "docs/deploy.md",
        "The first tenant",
        "sh",
        f"{PAGES}:test_the_first_tenant_of_an_installation",
    ),
    ("docs/upgrades.md", "*", "sh", f"{PAGES}:test_upgrade_backup_and_restore"),
    ("docs/webhooks.md", "Try it on one machine", "*", WEBHOOKS),
    ("docs/webhooks.md", "With the SDK", "python", VERIFIERS),
    ("docs/webhooks.md", "By the secret, with Standard Webhooks", "*", VERIFIERS),
    ("docs/webhooks.md", "By the server's key, RFC 9421", "*", VERIFIERS),
    ("sdk/js/README.md", "Quickstart in Node", "js", SDK_JS),
    ("sdk/js/README.md", "The client", "js", SDK_JS),
    ("sdk/js/README.md", "Webhooks", "js", SDK_JS),
    ("sdk/python/README.md", "Quickstart", "sh|python", SDK),
    ("sdk/python/README.md", "Signed requests", "python", SDK),
    ("sdk/python/README.md", "The client", "python", SDK),
    ("sdk/python/README.md", "Webhooks", "py", f"{SNIPPETS}:test_webhooks_of_the_packages_page"),
    (
        "sdk/python/README.md",
        "What others wrote is data",
        "py",
        f"{SNIPPETS}:test_an_event_is_fenced_as_the_packages_page_says",
    ),
]
"""A test takes these blocks from their page and runs them, or compares them with what was printed."""

READ = [
    ("CONTRIBUTING.md", "*", "sh", f"{COMMANDS}:test_lines_of_make_are_targets"),
    ("README.md", "Test", "sh", f"{COMMANDS}:test_lines_of_make_are_targets"),
    ("bench/README.md", "*", "sh", f"{COMMANDS}:test_lines_of_make_are_targets"),
    ("docs/reliability.md", "*", "sh", f"{COMMANDS}:test_lines_of_make_are_targets"),
    ("docs/scale.md", "*", "*", "tests/unit/test_scale.py"),
    (
        "docs/state-machine.md",
        "*",
        "mermaid",
        "tests/docs/test_state_machine.py:test_the_diagram_is_the_table_of_transitions",
    ),
    ("docs/cluster.md", "*", "ini|sql", "tests/docs/test_group_page.py"),
    ("docs/cluster.md", "Setting it up", "sh", "tests/docs/test_group_page.py"),
    (
        "docs/databases.md",
        "Whether mail is safe there",
        "sh",
        "tests/acceptance/test_leak_test.py",
    ),
    (
        "docs/deploy.md",
        "On a machine",
        "sh",
        f"{DEPLOY}:test_the_page_installs_what_the_unit_starts",
    ),
    (
        "docs/deploy.md",
        "The first tenant",
        "sh proxy",
        f"{COMMANDS}:test_programs_take_what_the_page_tells_them",
    ),
    (
        "docs/deploy.md",
        "In containers",
        "sh",
        f"{DEPLOY}:test_the_page_makes_what_the_compose_file_asks_for",
    ),
    (
        "docs/upgrades.md",
        "Upgrade",
        "sh host",
        f"{DEPLOY}:test_an_upgrade_installs_and_reads_what_the_first_time_did",
    ),
    ("sdk/js/README.md", "Quickstart in Node", "sh", SDK_JS),
    (
        "sdk/js/README.md",
        "In a page",
        "html",
        f"{SNIPPETS}:test_the_page_of_the_javascript_package_is_read_by_node",
    ),
    (
        "sdk/python/README.md",
        "The inbox for a model's harness",
        "json",
        f"{SNIPPETS}:test_the_settings_of_a_harness",
    ),
    (
        "sdk/python/README.md",
        "*",
        "console",
        f"{COMMANDS}:test_programs_take_what_the_page_tells_them",
    ),
]
"""Too long, too large or another's for the suite: what they name is compared with what is there."""

LEFT = [
    ("docs/together.md", "The model", "sh mcp", "fetches a package; the tests' environment has it"),
    (
        "docs/runbook.md",
        "RestanteDown",
        "sh systemd",
        "needs systemd as the machine's first process",
    ),
    ("docs/main-flow.md", "*", "", "a picture"),
    (
        "sdk/js/README.md",
        "Traces",
        "text",
        "calls OpenTelemetry's packages, which the tests have not",
    ),
]
"""Run by nobody, and why."""
