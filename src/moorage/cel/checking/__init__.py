"""What can be told of an expression before it is evaluated: types, mistakes, costs."""
