"""Reports: a request that needs several answers, with texts whose figures all come from rows of these answers."""
