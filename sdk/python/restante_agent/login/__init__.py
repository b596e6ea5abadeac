"""The login of an agent that has no secret: kept on this machine, shared by the agent's processes."""
