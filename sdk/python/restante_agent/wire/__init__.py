"""The sans-I/O core: requests as values, exchanges as generators, answers interpreted.

Nothing here opens a socket, sleeps or reads a clock; the drivers in `client` and `async_client` do.
"""
