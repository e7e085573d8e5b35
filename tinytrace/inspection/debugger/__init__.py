"""A debugger for equations, in a terminal, in a notebook, and as a value.

    session.py     debugger(f)(x): a Session, its moves, its values, and changes
    terminal.py    tinytrace.debug(f)(x): the same by commands
    page.py        what a session shows in a notebook; page.html, page.css and page.js are its fixed parts
"""
