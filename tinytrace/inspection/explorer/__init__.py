"""One program as six linked texts: Python, jaxpr, simplified jaxpr, kernels, C and assembly, as one page of HTML.

    explore.py      explore(f)(x), the Explorer and how it shows itself
    panes.py        the six texts, and which part of each belongs to which equations
    passes.py       what each pass merged, moved, rewrote and removed
    facts.py        what is told of an equation that was clicked: bytes, operations, kernel, passes
    page.py         the page, made with `linked_texts`; page.html, page.css and page.js are its fixed parts
"""
