"""The `restante-agent` command. Secrets come from the environment or a file, never from argv."""
