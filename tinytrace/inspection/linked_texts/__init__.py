"""Texts on one page of HTML whose parts belong to equations, so that what belongs together lights up together.

    marked_text.py   a text and its parts
    python_pane.py   the user's source as such a text; `program_pane.py` a jaxpr
    fixed.py         what users wrote as HTML and as JSON; a text as an element of the page, its parts as data
    texts.js         puts an element around each part;  texts.css: how all of it looks

The explorer and the debugger's page are made of these. Nothing of a page is loaded from anywhere.
"""
