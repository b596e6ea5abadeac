"""The outbound client of a process, on threads of its own for lookups.

Where gevent has taken the place of threads and sockets, lookups still go to real threads: the
system's resolver knows no event loop, and gevent's own pool for it is shared with files and has
no deadline.
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor

from gevent import monkey
from gevent.threadpool import ThreadPoolExecutor as RealThreads

from config import Settings
from restante.egress.client import Egress
from restante.egress.dial import Dialler, Patience, tls_context
from restante.egress.forward import Forward
from restante.egress.resolve import THREADS, PooledResolver


def system_resolver() -> PooledResolver:
    """The system's resolver; made once a process, after a fork."""
    if not monkey.is_module_patched("socket"):
        threads: Executor = ThreadPoolExecutor(THREADS, thread_name_prefix="lookup")
        return PooledResolver(threads, THREADS)
    lookup = monkey.get_original("socket", "getaddrinfo")
    return PooledResolver(RealThreads(THREADS), THREADS, lookup=lookup)


def make_egress(settings: Settings) -> Egress:
    """The outbound client on these settings; one a process."""
    resolver = system_resolver()
    place = settings.forward_proxy
    forward = None if place is None else Forward(*place, resolver)
    dial = Dialler(tls_context(settings.egress_ca_file), Patience(), forward=forward)
    return Egress(settings.egress_policy, resolver=resolver, dial=dial)
