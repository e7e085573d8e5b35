"""Equations, optimization, sampling and search with diffrax, lineax, optimistix, numpyro, blackjax, jaxopt, and others.

A program is called `<library>__<topic>` and returns a pytree, which is compared with what JAX 0.4.35 gives.
"""
# ruff: noqa: E741, E731, N803, N806, PLC0415

import jax
import jax.numpy as jnp
import numpy as np

from tests.libraries.neural_networks import data


def diffrax__ode():
    import diffrax as d

    s = d.diffeqsolve(
        d.ODETerm(lambda t, y, a: -a * y),
        d.Tsit5(),
        0.0,
        2.0,
        0.1,
        jnp.array([1.0, 2.0]),
        args=1.3,
        saveat=d.SaveAt(ts=jnp.linspace(0, 2, 5)),
        stepsize_controller=d.PIDController(rtol=1e-5, atol=1e-5),
    )
    return s.ys, s.stats["num_steps"]


def diffrax__grad():
    import diffrax as d

    f = lambda a: d.diffeqsolve(
        d.ODETerm(lambda t, y, a: -a * y), d.Dopri5(), 0.0, 1.0, 0.1, jnp.float32(1.0), args=a
    ).ys[-1]
    return jax.value_and_grad(f)(1.3)


def diffrax__sde():
    import diffrax as d

    bm = d.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(), key=jax.random.PRNGKey(0))
    t = d.MultiTerm(d.ODETerm(lambda t, y, a: -y), d.ControlTerm(lambda t, y, a: 0.1, bm))
    return d.diffeqsolve(t, d.Euler(), 0.0, 1.0, 0.05, 1.0).ys


def diffrax__implicit():
    import diffrax as d

    return d.diffeqsolve(
        d.ODETerm(lambda t, y, a: -50 * (y - jnp.cos(t))),
        d.Kvaerno5(),
        0.0,
        1.0,
        0.01,
        1.0,
        stepsize_controller=d.PIDController(rtol=1e-4, atol=1e-4),
    ).ys


def lineax__quick_start():
    import lineax as lx

    A = jnp.array([[4.0, 1.0], [1.0, 3.0]])
    b = jnp.array([1.0, 2.0])
    op = lx.MatrixLinearOperator(A)
    g = jax.grad(lambda A: lx.linear_solve(lx.MatrixLinearOperator(A), b).value.sum())(A)
    return (
        lx.linear_solve(op, b).value,
        lx.linear_solve(lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag), b, lx.CG(1e-5, 1e-5)).value,
        g,
        lx.linear_solve(op, b, lx.GMRES(1e-5, 1e-5)).value,
    )


def lineax__qr():
    import lineax as lx

    A = jnp.array([[4.0, 1.0], [1.0, 3.0], [0, 1]])
    return (
        lx.linear_solve(lx.MatrixLinearOperator(A), jnp.ones(3), lx.QR()).value,
        lx.linear_solve(lx.MatrixLinearOperator(A), jnp.ones(3), lx.SVD()).value,
        lx.linear_solve(lx.JacobianLinearOperator(lambda x, a: x**2, jnp.array([1.0, 2.0])), jnp.ones(2)).value,
    )


def optimistix__root():
    import optimistix as ox

    return ox.root_find(
        lambda y, a: y - jnp.tanh(y + a), ox.Newton(1e-6, 1e-6), jnp.float32(0.0), args=1.0
    ).value, ox.fixed_point(lambda y, a: jnp.cos(y), ox.FixedPointIteration(1e-5, 1e-5), 1.0).value


def optimistix__min():
    import optimistix as ox

    f = lambda y, a: (1 - y[0]) ** 2 + 100 * (y[1] - y[0] ** 2) ** 2
    return ox.minimise(f, ox.BFGS(1e-5, 1e-5), jnp.zeros(2)).value, ox.least_squares(
        lambda y, a: jnp.array([10 * (y[1] - y[0] ** 2), 1 - y[0]]), ox.LevenbergMarquardt(1e-6, 1e-6), jnp.zeros(2)
    ).value


def optimistix__grad():
    import optimistix as ox

    return jax.grad(lambda a: ox.root_find(lambda y, a: y**2 - a, ox.Newton(1e-6, 1e-6), 1.0, args=a).value)(2.0)


def numpyro__nuts():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    def model(y=None):
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        numpyro.sample("y", dist.Normal(mu, 1), obs=y)

    m = MCMC(NUTS(model), num_warmup=50, num_samples=50, progress_bar=False)
    m.run(jax.random.PRNGKey(0), jnp.array([1.0, 2.0, 3.0]))
    return np.round(float(m.get_samples()["mu"].mean()), 3)


def numpyro__svi():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    def model(y):
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        numpyro.sample("y", dist.Normal(mu, 1).expand([3]).to_event(1), obs=y)

    s = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.05), Trace_ELBO())
    r = s.run(jax.random.PRNGKey(0), 30, jnp.array([1.0, 2.0, 3.0]), progress_bar=False)
    return r.params, r.losses[-1]


def numpyro__dists():
    import numpyro.distributions as d

    k = jax.random.PRNGKey(1)
    return (
        d.Gamma(2.0, 3.0).log_prob(1.5),
        d.Dirichlet(jnp.ones(3)).sample(k),
        d.MultivariateNormal(jnp.zeros(2), jnp.eye(2)).log_prob(jnp.ones(2)),
        d.Categorical(logits=jnp.arange(3.0)).sample(k, (4,)),
        d.LKJCholesky(3, 1.0).sample(k),
        d.kl_divergence(d.Normal(0, 1), d.Normal(1, 2)),
    )


def blackjax__nuts():
    import blackjax

    lp = lambda x: -0.5 * jnp.sum(x**2 / jnp.array([1.0, 4.0]))
    a = blackjax.nuts(lp, step_size=0.5, inverse_mass_matrix=jnp.ones(2))
    s = a.init(jnp.ones(2))
    st = jax.jit(a.step)
    for k in jax.random.split(jax.random.key(0), 5):
        s, _ = st(k, s)
    return s.position


def blackjax__hmc_window():
    import blackjax

    lp = lambda x: -0.5 * jnp.sum(x["a"] ** 2)
    w = blackjax.window_adaptation(blackjax.nuts, lp)
    (s, par), _ = w.run(jax.random.key(0), {"a": jnp.ones(2)}, 20)
    return s.position, par["step_size"]


def jaxopt__gd():
    import jaxopt

    x, y = data()
    return jaxopt.GradientDescent(lambda w: jnp.mean((x @ w - y) ** 2), maxiter=50).run(
        jnp.zeros(3)
    ).params, jaxopt.LBFGS(lambda w: jnp.mean((x @ w - y) ** 2)).run(jnp.zeros(3)).params


def jaxopt__implicit():
    import jaxopt

    x, y = data()
    sol = lambda l: (
        jaxopt.GradientDescent(
            lambda w, l: jnp.mean((x @ w - y) ** 2) + l * jnp.sum(w**2), maxiter=200, implicit_diff=True
        )
        .run(jnp.zeros(3), l)
        .params
    )
    return jax.jacobian(sol)(0.1), jaxopt.projection.projection_simplex(jnp.array([0.5, 1.0, -0.2]))


def jaxopt__prox():
    import jaxopt

    x, y = data()
    return jaxopt.ProximalGradient(jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=100).run(
        jnp.zeros(3), 0.1, data=(x, y)
    ).params, jaxopt.Bisection(lambda x: x**3 - x - 2, 1, 2).run().params


def jaxopt__scipy():
    import jaxopt

    return jaxopt.ScipyMinimize(fun=lambda w: jnp.sum((w - 1) ** 2), method="BFGS").run(jnp.zeros(2)).params


def tinygp__quick_start():
    import tinygp

    x = jnp.linspace(0, 5, 8)
    y = jnp.sin(x)
    gp = tinygp.GaussianProcess(1.5 * tinygp.kernels.ExpSquared(scale=1.2), x, diag=0.1)
    return (
        gp.log_probability(y),
        gp.condition(y, jnp.array([1.0, 2.0])).gp.loc,
        jax.grad(lambda s: tinygp.GaussianProcess(tinygp.kernels.Matern32(s), x, diag=0.1).log_probability(y))(1.0),
    )


def tinygp__quasisep():
    import tinygp

    x = jnp.linspace(0, 5, 8)
    gp = tinygp.GaussianProcess(tinygp.kernels.quasisep.Matern32(1.5), x, diag=0.1)
    return gp.log_probability(jnp.sin(x))


def evosax__cma():
    import evosax

    s = evosax.CMA_ES(popsize=8, num_dims=2)
    k = jax.random.PRNGKey(0)
    par = s.default_params
    st = s.initialize(k, par)
    for _ in range(5):
        k, a = jax.random.split(k)
        x, st = s.ask(a, st, par)
        st = s.tell(x, jnp.sum(x**2, -1), st, par)
    return st.best_fitness


def evosax__openes():
    import evosax

    s = evosax.OpenES(popsize=8, num_dims=2)
    k = jax.random.PRNGKey(0)
    par = s.default_params
    st = s.initialize(k, par)
    for _ in range(5):
        k, a = jax.random.split(k)
        x, st = jax.jit(s.ask)(a, st, par)
        st = s.tell(x, jnp.sum(x**2, -1), st, par)
    return st.mean


def mctx__quick_start():
    import mctx

    root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=jnp.zeros((2, 1)))

    def rec(p, k, a, e):
        return mctx.RecurrentFnOutput(
            reward=a.astype(jnp.float32), discount=jnp.full(2, 0.9), prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2)
        ), e + 1

    o = mctx.muzero_policy((), jax.random.PRNGKey(0), root, rec, num_simulations=8)
    g = mctx.gumbel_muzero_policy((), jax.random.PRNGKey(0), root, rec, num_simulations=8)
    return o.action, o.action_weights, g.action_weights
