"""What `datasphinx serve` has beside LangServe's routes: a file for each group of routes, and the walls before them."""
