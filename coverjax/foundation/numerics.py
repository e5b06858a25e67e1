"""Scalar functions that stay accurate in value and gradient at their edges.

All of them are elementwise, take and return JAX arrays, and keep the dtype they are given.
"""

import decimal
import math

import jax
import jax.numpy as jnp
import numpy as np

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)

_SERIES_FROM = 16
"""The asymptotic series of the Stirling remainder is used from here on: its first dropped term is 2e-17."""


def _series(x: "np.ndarray | jax.Array") -> "np.ndarray | jax.Array":
    y = 1.0 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * 691 / 360360))))) / x


def _small_remainders() -> np.ndarray:
    """Stirling remainders at 1..15 rounded from 40 digits; entry 0 is unused."""
    with decimal.localcontext(prec=40):
        pi = decimal.Decimal("3.141592653589793238462643383279502884197")
        table = [decimal.Decimal(0)]
        for x in map(decimal.Decimal, range(1, _SERIES_FROM)):
            log_factorial = decimal.Decimal(math.factorial(int(x))).ln()
            table.append(log_factorial - (x + decimal.Decimal("0.5")) * x.ln() + x - (2 * pi).ln() / 2)
    return np.array([float(value) for value in table])


_SMALL = _small_remainders()


def log1p(x: jax.Array) -> jax.Array:
    """Return log(1 + x) to about 4e-16 relative for every x > -1.

    XLA's own (jaxlib 0.10.2, CPU) loses two digits between -0.42 and -0.35: 3e-14 relative.
    """
    direct = (x < -0.3) & (x > -0.5)
    return jnp.where(direct, jnp.log(jnp.where(direct, 1.0 + x, 1.0)), jnp.log1p(jnp.where(direct, 0.0, x)))


def stirling_remainder(x: jax.Array) -> jax.Array:
    """Return log x! - ((x + 1/2) log x - x + log(2 pi)/2) for whole x >= 1.

    Absolute error below 1e-16: the large terms, whose rounding ruins a difference of log-gammas
    (6e-10 at x = 1e6), never appear. Source: Stirling's series, DLMF 5.11.1.
    """
    small = jnp.asarray(_SMALL, x.dtype)[jnp.clip(x, 0, _SERIES_FROM - 1).astype(jnp.int32)]
    return jnp.where(x < _SERIES_FROM, small, _series(jnp.maximum(x, _SERIES_FROM)))


def binomial_ratio(n: jax.Array, u: jax.Array, k: jax.Array) -> jax.Array:
    """Return C(n - u, k) / C(n, k): the share of k-subsets of n items that avoid u given ones.

    Whole numbers as floats, 0 <= u <= n and 0 <= k <= n; exactly 1 at u = 0 or k = 0 and exactly
    0 where k > n - u. Relative accuracy within 1e-15 times 1 + |log ratio|, at constant cost for any n.
    """
    return jnp.exp(_log_binomial_ratio(n, u, k))


def binomial_hit(n: jax.Array, u: jax.Array, k: jax.Array) -> jax.Array:
    """Return 1 - C(n - u, k) / C(n, k): the share of k-subsets of n items that hold one of u given ones.

    As `binomial_ratio`, with relative accuracy where the share is tiny (u k much below n) too.
    """
    return -jnp.expm1(_log_binomial_ratio(n, u, k))


def _log_binomial_ratio(n: jax.Array, u: jax.Array, k: jax.Array) -> jax.Array:
    """Return log of C(n - u, k) / C(n, k). With m = n - u - k it is

        (m + 1/2) log1p(uk / nm) + k log1p(-u/n) + u log1p(-k/n)
        + R(n - u) + R(n - k) - R(n) - R(m),

    R the Stirling remainder: every term is of the order of the result. A difference of log-gammas loses it,
    a product over k costs k steps for one budget.
    """
    n, u, k = jnp.broadcast_arrays(n, u, k)
    m = n - u - k
    inside = (m > 0) & (u > 0) & (k > 0)
    n1, u1, k1, m1 = (jnp.where(inside, a, one) for a, one in ((n, 3.0), (u, 1.0), (k, 1.0), (m, 1.0)))
    log_ratio = (
        (m1 + 0.5) * log1p(u1 * k1 / (n1 * m1))
        + k1 * _log_share(n1 - u1, u1, n1)
        + u1 * _log_share(n1 - k1, k1, n1)
        + stirling_remainder(n1 - u1)
        + stirling_remainder(n1 - k1)
        - stirling_remainder(n1)
        - stirling_remainder(m1)
    )
    edge = jnp.where(m == 0, _log_reciprocal_binomial(u, k), -jnp.inf)
    edge = jnp.where((u == 0) | (k == 0), 0.0, edge)
    return jnp.where(inside, log_ratio, edge).astype(n.dtype)


def _log_share(part: jax.Array, rest: jax.Array, n: jax.Array) -> jax.Array:
    """Return log(part / n) where part + rest = n, accurate when either is small."""
    return jnp.where(rest < part, log1p(-rest / n), jnp.log(part / n))


def _log_reciprocal_binomial(u: jax.Array, k: jax.Array) -> jax.Array:
    """Return -log C(u + k, k) where both are positive (elsewhere some finite number)."""
    u, k = jnp.maximum(u, 1.0), jnp.maximum(k, 1.0)
    n = u + k
    return (
        k * _log_share(k, u, n)
        + u * _log_share(u, k, n)
        + 0.5 * jnp.log(u * k / n)
        + HALF_LOG_TWO_PI
        + stirling_remainder(u)
        + stirling_remainder(k)
        - stirling_remainder(n)
    )


@jax.custom_jvp
def miss(q: jax.Array, k: jax.Array) -> jax.Array:
    """Return (1 - q)^k, the probability that k independent draws all miss something of probability q.

    0 <= q <= 1, k >= 0 whole numbers as floats (no derivative is taken in k), 0^0 = 1. Relative error
    about 2e-16 times 1 + |log of the result|. Derivative -k (1 - q)^(k-1), also at q = 0, q = 1 and k = 0, to
    every order.
    """
    drawn = k > 0
    return jnp.where(drawn, jnp.exp(jnp.where(drawn, k, 1.0) * log1p(-q)), 1.0).astype(q.dtype)


@miss.defjvp
def _miss_jvp(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    q, k = primals
    value = miss(q, k)
    return value, (-k * miss(q, jnp.maximum(k - 1.0, 0.0)) * tangents[0]).astype(value.dtype)


@jax.custom_jvp
def hit(q: jax.Array, k: jax.Array) -> jax.Array:
    """Return 1 - (1 - q)^k, the probability that k independent draws meet something of probability q.

    As `miss`, with relative accuracy for tiny q too (k q for k q << 1). Derivative k (1 - q)^(k-1).
    """
    drawn = k > 0
    return jnp.where(drawn, -jnp.expm1(jnp.where(drawn, k, 1.0) * log1p(-q)), 0.0).astype(q.dtype)


@hit.defjvp
def _hit_jvp(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    q, k = primals
    value = hit(q, k)
    return value, (k * miss(q, jnp.maximum(k - 1.0, 0.0)) * tangents[0]).astype(value.dtype)


def log1p_deficit(x: jax.Array) -> jax.Array:
    """Return x - log(1 + x) >= 0 for x > -1, with relative accuracy near 0 too.

    With y = x / (2 + x), log(1 + x) = 2 atanh(y) and x - 2y = xy, so that the result is
    xy - 2 y^3 (1/3 + y^2/5 + ...): no difference of nearly equal numbers.
    """
    y = x / (2.0 + x)
    near = jnp.abs(y) < 0.25
    z = jnp.where(near, y, 0.0)
    series = jnp.zeros_like(z)
    for odd in range(27, 1, -2):
        series = series * z * z + 1.0 / odd
    far = jnp.where(near, 0.0, x)
    return jnp.where(near, x * z - 2.0 * z**3 * series, far - log1p(far))


def sine_deficit(x: jax.Array) -> jax.Array:
    """Return x - sin(x), with relative accuracy near 0 too."""
    near = jnp.abs(x) < 1.0
    z = jnp.where(near, x, 0.0)
    series = jnp.ones_like(z)
    for order in range(17, 3, -2):
        series = 1.0 - series * z * z / (order * (order - 1))
    return jnp.where(near, z**3 / 6.0 * series, x - jnp.sin(x))


def log_poisson(k: jax.Array, mean: jax.Array) -> jax.Array:
    """Return log(e^-mean mean^k / k!) for whole k >= 1, mean > 0.

    As -[k f((mean - k)/k) + log(2 pi k)/2 + R(k)], f = `log1p_deficit`, R = `stirling_remainder`: the large
    terms k log(mean), mean and log k! cancel by algebra and not in rounding. Source: Loader's saddle-point
    expansion of the Poisson probability (2000).
    """
    return -(k * log1p_deficit((mean - k) / k) + 0.5 * jnp.log(k) + HALF_LOG_TWO_PI + stirling_remainder(k))


_HALF_PI_PARTS = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
"""pi/2 in parts of 33 bits: multiples of the first two are exact up to 2^20."""


def sin_cos(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return sine and cosine of float64 angles up to 1e6, absolute error about 1e-16.

    One reduction to [-pi/4, pi/4] and two Taylor polynomials, for both at once: XLA's own pair takes six
    times as long on a CPU, where it does not vectorise. Larger angles lose the digits of the reduction.
    """
    quarter = jnp.round(x * (2.0 / math.pi))
    y = x
    for part in _HALF_PI_PARTS:
        y = y - quarter * part
    z = y * y
    sine = jnp.zeros_like(y)
    cosine = jnp.zeros_like(y)
    for order in range(17, 1, -2):
        sine = z * (sine + (-1.0) ** (order // 2) / math.factorial(order))
        cosine = z * (cosine + (-1.0) ** (order // 2) / math.factorial(order - 1))
    sine, cosine = y + y * sine, 1.0 + cosine
    turn = quarter - 4.0 * jnp.floor(0.25 * quarter)
    odd = (turn == 1.0) | (turn == 3.0)
    swapped_sine, swapped_cosine = jnp.where(odd, cosine, sine), jnp.where(odd, sine, cosine)
    return (
        jnp.where(turn >= 2.0, -swapped_sine, swapped_sine),
        jnp.where((turn == 1.0) | (turn == 2.0), -swapped_cosine, swapped_cosine),
    )
