"""Check the figures and claims of a text against the rows that it describes.

`dates` and `numbers` read dates and figures, `vocabulary` holds the words of each language, `facts` the values of the
results and what follows from them, `reading` the entities, periods, metrics and figures of a sentence, `claims` the
checks. The checks of one sentence are in layers: `binding` finds the rows and columns of a place, `counts`, `figures`,
`rankings` and `changes` hold the claims against their values.
"""
