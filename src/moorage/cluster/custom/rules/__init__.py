"""Rules in the Common Expression Language that definitions have for their objects: `x-kubernetes-validations`.

Only who meets such a rule loads this: most definitions have none.
"""
