"""The nodes of the SQL agent, one file per node, named as in the graph."""
