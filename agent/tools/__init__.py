"""The tools of the analyst: the only things that its model may do."""
