"""What notebooks show of jaxprs, stages, kernels and jitted functions.

    showing.py      what is shown of each kind of value
    page_part.py    HTML that holds texts: folded, coloured, linked as far as its size allows
    colours.py      which words of jaxprs, kernels and C have a colour
"""
