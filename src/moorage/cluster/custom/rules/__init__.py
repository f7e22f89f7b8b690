"""Rules of definitions for their objects, in the Common Expression Language: `x-kubernetes-validations`.

Only who meets such a rule loads this: most definitions have none.
"""
