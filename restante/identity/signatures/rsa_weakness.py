"""RSA moduli that can be factored by what is known of how they were made."""

from __future__ import annotations

from math import gcd, isqrt, prod

_SMALL_PRIMES = [n for n in range(2, 2_000) if all(n % d for d in range(2, isqrt(n) + 1))]
_PRODUCT = prod(_SMALL_PRIMES)
_FERMAT_STEPS = 100
# Primes made by a faulty library (CVE-2017-15361) are powers of 65537 modulo all of these
_ROCA = {
    prime: frozenset(pow(65_537, power, prime) for power in range(prime))
    for prime in (11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157)
}


def is_weak_modulus(modulus: int) -> bool:
    """Whether it has a small factor, two close ones, or ones of the faulty library."""
    if gcd(modulus, _PRODUCT) != 1:
        return True
    root = isqrt(modulus)
    for a in range(root, root + _FERMAT_STEPS):
        rest = a * a - modulus
        if rest >= 0 and isqrt(rest) ** 2 == rest:
            return True
    return all(modulus % prime in powers for prime, powers in _ROCA.items())
