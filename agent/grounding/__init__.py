"""Check the figures and claims of a text against the rows that it describes.

`dates` and `numbers` parse dates and figures, `vocabulary` has the words of each language, `facts` the values of the
results, `reading` the names, periods, metrics and figures of a sentence, and `claims` runs all checks. `binding` maps a
position in a sentence to rows and columns; `counts`, `figures`, `rankings` and `changes` compare claims with their
values.
"""
