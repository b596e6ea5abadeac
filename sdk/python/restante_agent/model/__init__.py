"""Values of the contract: frozen, typed, ignoring members they do not know."""
