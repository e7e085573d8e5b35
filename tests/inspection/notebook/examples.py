"""One value of each kind that a notebook shows; and a page of a notebook that shows them."""
import nbconvert
import nbformat
import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp

X = np.ones(5, np.float32)


def f(x, flag=True):
    y = jnp.sin(x)
    return jnp.where(y > 0, y, jnp.exp(y)) if flag else y


def values():
    """The values, by names."""
    jitted = jax.jit(f, static_argnames="flag")
    jitted(X)
    jitted(X, flag=False)
    jitted(2.0)
    traced = jitted.trace(X)
    lowered = traced.lower()
    return {"function": jitted, "jaxpr": traced.jaxpr.jaxpr, "closed": traced.jaxpr, "equation": traced.jaxpr.eqns[0],
            "traced": traced, "lowered": lowered, "kernels": lowered.kernels, "source": lowered.source,
            "compiled": lowered.compile(), "stages": jax.show_stages(jax.grad(lambda x: f(x).sum()))(X),
            "rules": jax.show_rules("transpose", family="shaping"),
            "empty": jax.make_jaxpr(lambda: None)(), "no_code": jax.jit(lambda x: x).lower(X).compile()}


def page(values, theme):
    """A notebook whose cells show values, as a page of JupyterLab's look."""
    book = nbformat.v4.new_notebook()
    for number, (name, value) in enumerate(values.items(), 1):
        bundle = value._repr_mimebundle_()
        output = nbformat.v4.new_output("execute_result", bundle, execution_count=number)
        book.cells.append(nbformat.v4.new_code_cell(name, outputs=[output], execution_count=number))
    exporter = nbconvert.HTMLExporter(theme=theme)
    # what the template would load from the network
    exporter.require_js_url = exporter.mathjax_url = exporter.mermaid_js_url = exporter.jquery_url = ""
    return exporter.from_notebook_node(book)[0]
