"""The in-tree plugins, one module each; `catalog` lists them."""
