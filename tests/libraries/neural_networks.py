"""Neural networks with optax, chex, equinox, flax, haiku, jaxtyping and einops, as their documents begin.

A program is called `<library>__<topic>` and returns a pytree, which is compared with what JAX 0.4.35 gives.
"""
# ruff: noqa: E741, E731, PLC0415, F722, F821

import jax
import jax.numpy as jnp
import numpy as np


def data():
    k = np.random.RandomState(0)
    x = k.randn(32, 3).astype(np.float32)
    w = np.float32([1, -2, 0.5])
    return x, x @ w + 0.1


def optax__adam():
    import optax

    x, y = data()
    loss = lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2)
    p = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    o = optax.adam(1e-1)
    s = o.init(p)

    @jax.jit
    def step(p, s):
        value, g = jax.value_and_grad(loss)(p)
        u, s = o.update(g, s, p)
        return optax.apply_updates(p, u), s, value

    for _ in range(20):
        p, s, value = step(p, s)
    return p, value


def optax__chain():
    import optax

    x, y = data()
    loss = lambda w: optax.huber_loss(x @ w, y).mean()
    w = jnp.ones(3)
    sch = optax.warmup_cosine_decay_schedule(0.0, 0.1, 5, 20)
    o = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(sch))
    s = o.init(w)
    for _ in range(10):
        g = jax.grad(loss)(w)
        u, s = o.update(g, s, w)
        w = optax.apply_updates(w, u)
    return w


def optax__lbfgs():
    import optax

    f = lambda x: jnp.sum((x - 1.0) ** 2 * jnp.arange(1.0, 4.0))
    o = optax.lbfgs()
    x = jnp.zeros(3)
    s = o.init(x)
    vg = optax.value_and_grad_from_state(f)
    for _ in range(5):
        v, g = vg(x, state=s)
        u, s = o.update(g, s, x, value=v, grad=g, value_fn=f)
        x = optax.apply_updates(x, u)
    return x


def optax__losses():
    import optax

    l = jnp.array([[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]])
    return (
        optax.softmax_cross_entropy_with_integer_labels(l, jnp.array([1, 2])),
        optax.sigmoid_binary_cross_entropy(l, l > 1),
        optax.cosine_similarity(l, l + 1),
    )


def chex__basic():
    import chex

    @chex.dataclass
    class S:
        a: chex.Array
        b: chex.Array

    s = S(a=jnp.ones(3), b=jnp.zeros(2))
    chex.assert_shape(s.a, (3,))
    chex.assert_rank(s.b, 1)
    chex.assert_trees_all_close(s, s)

    @jax.jit
    @chex.assert_max_traces(n=2)
    def f(s):
        return jax.tree.map(lambda x: x + 1, s)

    return f(s).a


def chex__variants():
    import chex

    chex.assert_tree_all_finite({"a": jnp.ones(2)})
    chex.assert_equal_shape([jnp.ones(2), jnp.zeros(2)])
    try:
        chex.assert_shape(jnp.ones(3), (4,))
    except AssertionError as e:
        return str(e)[:60]


def equinox__mlp():
    import equinox as eqx

    m = eqx.nn.MLP(3, 1, 8, 2, key=jax.random.key(0))
    x, y = data()

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def loss(m, x, y):
        return jnp.mean((jax.vmap(m)(x)[:, 0] - y) ** 2)

    for _ in range(5):
        value, g = loss(m, x, y)
        m = eqx.apply_updates(m, jax.tree.map(lambda g: -0.05 * g, g))
    return value


def equinox__conv():
    import equinox as eqx

    k = jax.random.split(jax.random.PRNGKey(0), 4)
    net = eqx.nn.Sequential(
        [
            eqx.nn.Conv2d(1, 3, 3, key=k[0]),
            eqx.nn.Lambda(jax.nn.relu),
            eqx.nn.MaxPool2d(2, 2),
            eqx.nn.Lambda(jnp.ravel),
            eqx.nn.Linear(75, 2, key=k[1]),
        ]
    )
    return net(jnp.ones((1, 12, 12)))


def equinox__layer_norm():
    import equinox as eqx

    norm, _ = eqx.nn.make_with_state(eqx.nn.LayerNorm)(3)
    return norm(jnp.arange(3.0))


def equinox__gru():
    import equinox as eqx

    c = eqx.nn.GRUCell(2, 4, key=jax.random.key(1))
    return jax.lax.scan(lambda h, x: (c(x, h), None), jnp.zeros(4), jnp.ones((5, 2)))[0]


def equinox__print():
    import equinox as eqx

    return str(eqx.nn.MLP(3, 1, 8, 2, key=jax.random.key(0)))


def equinox__attention():
    import equinox as eqx

    a = eqx.nn.MultiheadAttention(2, 8, key=jax.random.key(0))
    x = jnp.arange(24.0).reshape(3, 8) / 24
    return a(x, x, x)


def equinox__while():
    import equinox.internal as eqxi

    f = lambda x: eqxi.while_loop(
        lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * x), (0, 1.0), kind="checkpointed", max_steps=8
    )[1]
    return jax.value_and_grad(f)(1.5)


def equinox__error_if():
    import equinox as eqx

    @eqx.filter_jit
    def f(x):
        return eqx.error_if(x, x < 0, "negative") * 2

    r = f(jnp.float32(2.0))
    try:
        f(jnp.float32(-1.0))
        return r, "no error"
    except Exception as e:
        return r, "negative" in str(e)


def flax__linen():
    import flax.linen as nn
    import optax

    class M(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Dense(8)(x))
            return nn.Dense(1)(x)

    m = M()
    x, y = data()
    p = m.init(jax.random.key(0), x[:1])
    o = optax.sgd(0.05)
    s = o.init(p)

    @jax.jit
    def step(p, s):
        value, g = jax.value_and_grad(lambda p: jnp.mean((m.apply(p, x)[:, 0] - y) ** 2))(p)
        u, s = o.update(g, s)
        return optax.apply_updates(p, u), s, value

    for _ in range(5):
        p, s, value = step(p, s)
    return value, jax.tree.map(jnp.shape, p)


def flax__cnn():
    import flax.linen as nn

    class C(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            x = nn.Conv(4, (3, 3))(x)
            x = nn.BatchNorm(use_running_average=not train)(x)
            x = nn.relu(x)
            x = nn.avg_pool(x, (2, 2), (2, 2))
            x = x.reshape(x.shape[0], -1)
            x = nn.Dropout(0.5, deterministic=not train)(x)
            return nn.Dense(2)(x)

    m = C()
    x = jnp.arange(128.0).reshape(2, 8, 8, 1) / 64
    v = m.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x, True)
    out, upd = m.apply(v, x, True, mutable=["batch_stats"], rngs={"dropout": jax.random.key(2)})
    return out, upd


def flax__lstm():
    import flax.linen as nn

    r = nn.RNN(nn.LSTMCell(4))
    x = jnp.ones((2, 5, 3))
    v = r.init(jax.random.key(0), x)
    return r.apply(v, x)[:, -1]


def flax__attention():
    import flax.linen as nn

    a = nn.MultiHeadDotProductAttention(2)
    x = jnp.arange(24.0).reshape(1, 3, 8) / 24
    v = a.init(jax.random.key(0), x)
    return a.apply(v, x)


def flax__trainstate():
    import flax.linen as nn
    import optax
    from flax.training import train_state

    m = nn.Dense(1)
    x, y = data()
    v = m.init(jax.random.key(0), x)
    s = train_state.TrainState.create(apply_fn=m.apply, params=v["params"], tx=optax.adam(0.1))

    @jax.jit
    def step(s):
        g = jax.grad(lambda p: jnp.mean((s.apply_fn({"params": p}, x)[:, 0] - y) ** 2))(s.params)
        return s.apply_gradients(grads=g)

    for _ in range(3):
        s = step(s)
    return s.params


def flax__tabulate():
    import flax.linen as nn

    return nn.tabulate(nn.Dense(3), jax.random.key(0), compute_flops=False, console_kwargs={"width": 80})(
        jnp.ones((1, 2))
    )[:300]


def flax__nnx():
    import optax
    from flax import nnx

    class M(nnx.Module):
        def __init__(self, rngs):
            self.a = nnx.Linear(3, 8, rngs=rngs)
            self.b = nnx.Linear(8, 1, rngs=rngs)

        def __call__(self, x):
            return self.b(nnx.relu(self.a(x)))

    m = M(nnx.Rngs(0))
    o = nnx.Optimizer(m, optax.adam(1e-2))
    x, y = data()

    @nnx.jit
    def step(m, o):
        value, g = nnx.value_and_grad(lambda m: jnp.mean((m(x)[:, 0] - y) ** 2))(m)
        o.update(g)
        return value

    for _ in range(5):
        value = step(m, o)
    return value


def flax__scan():
    import flax.linen as nn

    class B(nn.Module):
        @nn.compact
        def __call__(self, c, _):
            return nn.tanh(nn.Dense(4)(c)), None

    m = nn.scan(B, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)()
    v = m.init(jax.random.key(0), jnp.ones(4), None)
    return m.apply(v, jnp.ones(4), None)[0]


def flax__serial():
    import flax.serialization as fs

    return fs.from_bytes({"a": jnp.zeros(3)}, fs.to_bytes({"a": jnp.arange(3.0)}))["a"]


def haiku__mlp():
    import haiku as hk

    f = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([8, 1])(x)))
    x, y = data()
    p = f.init(jax.random.PRNGKey(0), x)
    return jax.jit(jax.value_and_grad(lambda p: jnp.mean((f.apply(p, x)[:, 0] - y) ** 2)))(p)[0], f.apply(p, x)[:3]


def haiku__bn():
    import haiku as hk

    f = hk.transform_with_state(lambda x, t: hk.BatchNorm(True, True, 0.9)(hk.Linear(4)(x), t))
    x, _ = data()
    p, s = f.init(jax.random.PRNGKey(0), x, True)
    o, s = f.apply(p, s, None, x, True)
    return o[:2], s


def haiku__lstm():
    import haiku as hk

    def net(x):
        c = hk.LSTM(4)
        return hk.dynamic_unroll(c, x, c.initial_state(2))[0]

    f = hk.without_apply_rng(hk.transform(net))
    x = jnp.ones((5, 2, 3))
    p = f.init(jax.random.PRNGKey(0), x)
    return f.apply(p, x)[-1]


def haiku__rng():
    import haiku as hk

    f = hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x))
    return f.apply({}, jax.random.PRNGKey(3), jnp.ones(8))


def haiku__scan_cond():
    import haiku as hk

    def net(x):
        l = hk.Linear(3)
        y = l(x)
        return hk.scan(lambda c, _: (jnp.tanh(l(c)), None), y, None, 3)[0], hk.cond(
            jnp.sum(x) > 0, lambda v: l(v), lambda v: v, x
        )

    f = hk.without_apply_rng(hk.transform(net))
    x = jnp.ones(3)
    p = f.init(jax.random.PRNGKey(0), x)
    return jax.jit(f.apply)(p, x)


def haiku__tabulate():
    import haiku as hk

    return hk.experimental.tabulate(hk.transform(lambda x: hk.Linear(2)(x)))(jnp.ones((1, 3)))[:200]


def jaxtyping__check():
    import typeguard
    from jaxtyping import Array, Float, jaxtyped

    @jaxtyped(typechecker=typeguard.typechecked)
    def f(x: Float[Array, "n m"], y: Float[Array, "m"]) -> Float[Array, "n"]:
        return x @ y

    r = f(jnp.ones((2, 3)), jnp.ones(3))
    try:
        f(jnp.ones((2, 3)), jnp.ones(4))
        bad = False
    except Exception:
        bad = True
    return r, bad, jax.jit(f)(jnp.ones((2, 3)), jnp.ones(3))


def einops__quick_start():
    import einops

    x = jnp.arange(24.0).reshape(2, 3, 4)
    return (
        einops.rearrange(x, "a b c -> (a c) b"),
        einops.reduce(x, "a b c -> b", "mean"),
        einops.einsum(x, x, "a b c, a d c -> b d"),
        jax.jit(lambda x: einops.repeat(x, "a b c -> a b c d", d=2))(x).shape,
    )
