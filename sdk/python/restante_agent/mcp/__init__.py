"""The inbox for a model's harness: a Model Context Protocol server. Needs ``restante-agent[mcp]``."""
